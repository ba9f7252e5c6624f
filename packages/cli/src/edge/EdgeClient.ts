/**
 * The Edge's HTTP contract as typed calls. Whatever goes wrong comes out as `CommandFailed` with the Edge's own sentence.
 */
import {
  EdgeAgents,
  EdgeApi,
  EdgeArtifacts,
  EdgeDiffs,
  EdgeHubLink,
  EdgePermissions,
  EdgePreviews,
  EdgeRuns,
  EdgeWorkspaces
} from "@corral/domain/edge-api/EdgeApi"
import { ErrorObject } from "@corral/domain/errors/ErrorTable"
import { EdgeReadiness } from "@corral/domain/http/Health"
import { Effect, Option, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { HttpApi, HttpApiClient } from "effect/http-api"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { locateEdge, type EdgeEndpoint } from "./EdgeLocation.ts"
import type { EdgeChoice } from "../Flags.ts"

/** What commands use of the contract. */
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

/** A refusal as the service words it; `text` is the answer's body. */
export const failureFromResponse = (
  status: number,
  text: string,
  service: "Edge" | "Hub" = "Edge"
): CommandFailed =>
  Option.match(decodeErrorObject(text), {
    onNone: () =>
      new CommandFailed({
        message: `The ${service} answered ${status} without a reason.`,
        exitCode: exitCodes.refused
      }),
    onSome: ({ code, message, requestId, details }) =>
      new CommandFailed({ message: sentence(message, details), exitCode: exitCodes.refused, code, requestId })
  })

/** The message with the fields that do not fit, where the Edge names them. */
const sentence = (message: string, details: ErrorObject["details"]): string => {
  const issues = details?.["issues"]
  if (!Array.isArray(issues)) return message
  const said = issues.map((issue: { path?: unknown; message?: unknown }) => `${issue.path}: ${issue.message}`)
  return `${message} ${said.join("; ")}`
}

const refuse = (response: HttpClientResponse.HttpClientResponse) =>
  response.status < 400
    ? Effect.succeed(response)
    : Effect.flatMap(response.text, (text) => Effect.fail(failureFromResponse(response.status, text)))

const unreachable = new CommandFailed({
  message: "The Edge stopped answering.",
  exitCode: exitCodes.failed,
  unreachable: true
})
const incompatible = new CommandFailed({
  message: "The Edge's answer is not understood: it may be of another version.",
  exitCode: exitCodes.failed
})

/** Typed client of the Edge at this endpoint. */
export const connectToEdge = Effect.fnUntraced(function* ({ url, token }: EdgeEndpoint) {
  const httpClient = (yield* HttpClient.HttpClient).pipe(
    HttpClient.mapRequest(HttpClientRequest.bearerToken(Redacted.value(token))),
    HttpClient.transformResponse((answer) =>
      answer.pipe(
        Effect.flatMap(refuse),
        Effect.catchTag("HttpClientError", () => Effect.fail(unreachable))
      )
    )
  )
  return yield* HttpApiClient.makeWith(UsedApi, { httpClient, baseUrl: url })
})

/** Calls to the Edge, group by group. */
export type EdgeApiClient = Effect.Success<ReturnType<typeof connectToEdge>>

/** Ends a call: refusals are `CommandFailed` already; what is left are answers that do not fit the contract. */
export const callApi = <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, CommandFailed, R> =>
  Effect.mapError(call, (error) => (error instanceof CommandFailed ? error : incompatible))

/** Finds the Edge, and gives its calls. */
export const connectToChosenEdge = (choice: EdgeChoice) => Effect.flatMap(locateEdge(choice), connectToEdge)

/** The Edge's health; one that is not ready answers 503 with it. */
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
