/**
 * Typed client of the Edge. Every failure is a `CommandFailed` with the message of the Edge. Also the origin that the calls of a command name for
 * decisions and answers, at an Edge and at a Hub.
 */
import { effectCalls } from "@corral/client/effect/EffectCalls"
import { type CorralError, errorOfResponse } from "@corral/client/http/CorralError"
import { ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import { EdgeAgents, EdgePresets } from "@corral/domain/edge-api/Agents"
import { EdgeArtifacts } from "@corral/domain/edge-api/Artifacts"
import { EdgeChanges } from "@corral/domain/edge-api/Changes"
import { EdgeApi, EdgeHubLink } from "@corral/domain/edge-api/EdgeApi"
import { EdgeInputs } from "@corral/domain/edge-api/Inputs"
import { EdgePermissions } from "@corral/domain/edge-api/Permissions"
import { EdgePreviews } from "@corral/domain/edge-api/Previews"
import { EdgeRuns } from "@corral/domain/edge-api/Runs"
import { EdgeWorkspaces } from "@corral/domain/edge-api/Workspaces"
import { EdgeDiffs, EdgeWorktrees } from "@corral/domain/edge-api/Worktrees"
import { EdgeReadiness } from "@corral/domain/http/Health"
import { Context, Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import type { EdgeChoice } from "../Flags.ts"
import { type EdgeEndpoint, locateEdge } from "./EdgeLocation.ts"

/** `undefined`: the service knows the origin by the credential. */
export const CallOrigin = Context.Reference<"editor" | undefined>("corral/cli/CallOrigin", {
  defaultValue: () => undefined
})

/** Headers of each call, for the access to a service. */
export const originAccess = Effect.map(CallOrigin, (origin) =>
  origin === undefined ? {} : { headers: Effect.succeed({ [ORIGIN_HEADER]: origin }) }
)

/** Endpoint groups that commands use. */
class UsedApi extends HttpApi.make("edge")
  .add(
    EdgeAgents,
    EdgePresets,
    EdgeWorkspaces,
    EdgeRuns,
    EdgeDiffs,
    EdgeChanges,
    EdgeArtifacts,
    EdgePreviews,
    EdgePermissions,
    EdgeInputs,
    EdgeWorktrees,
    EdgeHubLink
  )
  .annotateMerge(EdgeApi.annotations) {}

const incompatible = new CommandFailed({
  message: "Can't read the response. The service may have a different version. Update both, then try again.",
  exitCode: exitCodes.failed
})

const WRONG_TOKEN =
  "The Edge did not accept the token. Select the file with its token with --token-file: edge.token in the home of the Edge."

/** Failure of a command whose request failed. `unreachable` is the failure where the service did not respond. */
export const commandFailure = (
  service: "Edge" | "Hub",
  error: CorralError,
  unreachable: CommandFailed
): CommandFailed => {
  const { code, details, message, requestId, status } = error
  const isTransient = error.isTransient ? true : undefined
  if (code === "invalid_response") return incompatible
  if (code !== "unreachable")
    return new CommandFailed({
      // An Edge has no sign-in.
      message: service === "Edge" && code === "unauthorized" ? WRONG_TOKEN : sentence(message, details),
      exitCode: exitCodes.refused,
      code,
      requestId,
      details,
      isTransient
    })
  if (status === undefined) return unreachable
  return new CommandFailed({
    message: `The ${service} responded with status ${status} and no error message.`,
    exitCode: exitCodes.refused,
    isTransient
  })
}

/** Adds invalid fields to the message, if the service lists them. */
const sentence = (message: string, details: CorralError["details"]): string => {
  const issues = details["issues"]
  if (!Array.isArray(issues)) return message
  const invalid = issues.map(
    (issue: { path?: unknown; message?: unknown }) => `${issue.path}: ${issue.message}`
  )
  return `${message} ${invalid.join("; ")}`
}

const unreachable = new CommandFailed({
  message: "Lost connection to the Edge. Check that it is running, then try again.",
  exitCode: exitCodes.failed,
  unreachable: true,
  isTransient: true
})

/** Typed client of the Edge at this endpoint. */
export const connectToEdge = (endpoint: EdgeEndpoint) =>
  Effect.flatMap(originAccess, (origin) =>
    effectCalls(UsedApi, { ...endpoint, ...origin }, ({ error }) =>
      commandFailure("Edge", error, unreachable)
    )
  )

/** Typed calls of the Edge, by endpoint group. */
export type EdgeApiClient = Effect.Success<ReturnType<typeof connectToEdge>>

/** Locates the Edge and connects to it. */
export const connectToChosenEdge = (choice: EdgeChoice) => Effect.flatMap(locateEdge(choice), connectToEdge)

/** Reads the health of the Edge. An Edge that is not ready responds with 503 and the same body. */
export const fetchEdgeHealth = Effect.fnUntraced(
  function* ({ url, token }: EdgeEndpoint) {
    const client = yield* HttpClient.HttpClient
    const request = HttpClientRequest.get(`${url}/v1/health`)
    const response = yield* client.execute(HttpClientRequest.bearerToken(request, Redacted.value(token)))
    if (response.status !== 200 && response.status !== 503)
      return yield* commandFailure(
        "Edge",
        errorOfResponse(response.status, yield* response.text),
        unreachable
      )
    return yield* HttpClientResponse.schemaBodyJson(EdgeReadiness)(response)
  },
  Effect.catchTags({
    HttpClientError: () => Effect.fail(unreachable),
    SchemaError: () => Effect.fail(incompatible)
  })
)
