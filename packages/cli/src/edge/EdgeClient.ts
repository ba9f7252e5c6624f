/**
 * Typed client of the Edge. Every failure is a `CommandFailed` with the message of the Edge.
 */
import { EdgeAgents } from "@corral/domain/edge-api/Agents"
import { EdgeArtifacts } from "@corral/domain/edge-api/Artifacts"
import { EdgeDiffs } from "@corral/domain/edge-api/Diffs"
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { EdgeHubLink } from "@corral/domain/edge-api/HubLink"
import { EdgePermissions } from "@corral/domain/edge-api/Permissions"
import { EdgePreviews } from "@corral/domain/edge-api/Previews"
import { EdgeRuns } from "@corral/domain/edge-api/Runs"
import { EdgeWorkspaces } from "@corral/domain/edge-api/Workspaces"
import { ErrorObject } from "@corral/domain/errors/ErrorTable"
import { EdgeReadiness } from "@corral/domain/http/Health"
import { Effect, Option, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { HttpApi, HttpApiClient } from "effect/http-api"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { locateEdge, type EdgeEndpoint } from "./EdgeLocation.ts"
import type { EdgeChoice } from "../Flags.ts"

/** Endpoint groups that commands use. */
class UsedApi extends HttpApi.make("edge")
  .add(
    EdgeAgents,
    EdgeWorkspaces,
    EdgeRuns,
    EdgeDiffs,
    EdgeArtifacts,
    EdgePreviews,
    EdgePermissions,
    EdgeHubLink
  )
  .annotateMerge(EdgeApi.annotations) {}

const decodeErrorObject = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorObject))

/** Failure from an error response. `text` is the response body. */
export const failureFromResponse = (
  status: number,
  text: string,
  service: "Edge" | "Hub" = "Edge"
): CommandFailed =>
  Option.match(decodeErrorObject(text), {
    onNone: () =>
      new CommandFailed({
        message: `The ${service} responded with status ${status} and no error message.`,
        exitCode: exitCodes.refused
      }),
    onSome: ({ code, message, requestId, details }) =>
      new CommandFailed({ message: sentence(message, details), exitCode: exitCodes.refused, code, requestId })
  })

/** Adds invalid fields to the message, if the service lists them. */
const sentence = (message: string, details: ErrorObject["details"]): string => {
  const issues = details?.["issues"]
  if (!Array.isArray(issues)) return message
  const invalid = issues.map(
    (issue: { path?: unknown; message?: unknown }) => `${issue.path}: ${issue.message}`
  )
  return `${message} ${invalid.join("; ")}`
}

const failOnError = (response: HttpClientResponse.HttpClientResponse) =>
  response.status < 400
    ? Effect.succeed(response)
    : Effect.flatMap(response.text, (text) => Effect.fail(failureFromResponse(response.status, text)))

const unreachable = new CommandFailed({
  message: "Lost connection to the Edge. Check that it is running, then try again.",
  exitCode: exitCodes.failed,
  unreachable: true
})
const incompatible = new CommandFailed({
  message: "Can't read the response. The service may have a different version. Update both, then try again.",
  exitCode: exitCodes.failed
})

/** Typed client of the Edge at this endpoint. */
export const connectToEdge = Effect.fnUntraced(function* ({ url, token }: EdgeEndpoint) {
  const httpClient = (yield* HttpClient.HttpClient).pipe(
    HttpClient.mapRequest(HttpClientRequest.bearerToken(Redacted.value(token))),
    HttpClient.transformResponse((answer) =>
      answer.pipe(
        Effect.flatMap(failOnError),
        Effect.catchTag("HttpClientError", () => Effect.fail(unreachable))
      )
    )
  )
  return yield* HttpApiClient.makeWith(UsedApi, { httpClient, baseUrl: url })
})

/** Typed calls of the Edge, by endpoint group. */
export type EdgeApiClient = Effect.Success<ReturnType<typeof connectToEdge>>

/** Maps response decoding errors to `CommandFailed`. Other failures are `CommandFailed` already. */
export const callApi = <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, CommandFailed, R> =>
  Effect.mapError(call, (error) => (error instanceof CommandFailed ? error : incompatible))

/** Locates the Edge and connects to it. */
export const connectToChosenEdge = (choice: EdgeChoice) => Effect.flatMap(locateEdge(choice), connectToEdge)

/** Reads the health of the Edge. An Edge that is not ready responds with 503 and the same body. */
export const fetchEdgeHealth = Effect.fnUntraced(
  function* ({ url, token }: EdgeEndpoint) {
    const client = yield* HttpClient.HttpClient
    const request = HttpClientRequest.get(`${url}/v1/health`)
    const response = yield* client.execute(HttpClientRequest.bearerToken(request, Redacted.value(token)))
    if (response.status !== 200 && response.status !== 503)
      return yield* failureFromResponse(response.status, yield* response.text)
    return yield* HttpClientResponse.schemaBodyJson(EdgeReadiness)(response)
  },
  Effect.catchTags({
    HttpClientError: () => Effect.fail(unreachable),
    SchemaError: () => Effect.fail(incompatible)
  })
)
