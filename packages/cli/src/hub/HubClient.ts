/**
 * Typed client of a Hub. Every failure is a `CommandFailed` with the message of the Hub.
 */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { HubApprovals } from "@corral/domain/hub-api/Approvals"
import { HubAudit } from "@corral/domain/hub-api/AuditTrail"
import { HubAuth, HubSignIn } from "@corral/domain/hub-api/Auth"
import { HubDeviceRegistration, HubDevices } from "@corral/domain/hub-api/Devices"
import { HubProjects } from "@corral/domain/hub-api/Projects"
import { HubRuns } from "@corral/domain/hub-api/Runs"
import { HubTasks } from "@corral/domain/hub-api/Tasks"
import { Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApi, HttpApiClient } from "effect/http-api"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { failureFromHub } from "./HubRefusal.ts"

class UsedApi extends HttpApi.make("hub")
  .add(
    HubSignIn,
    HubAuth,
    HubDeviceRegistration,
    HubDevices,
    HubProjects,
    HubTasks,
    HubRuns,
    HubApprovals,
    HubAudit
  )
  .annotateMerge(HubApi.annotations) {}

const unreachable = (url: string) =>
  new CommandFailed({
    message: `Can't reach the Hub at ${url}. Check the URL and that the Hub is running.`,
    exitCode: exitCodes.failed,
    unreachable: true
  })

/** Connects to the Hub at `url`, with a sign-in if there is one. Redirects are not followed, because they would forward the token. */
export const connectToHub = Effect.fnUntraced(function* (url: string, token?: Redacted.Redacted) {
  const signedInAt = token === undefined ? undefined : url
  const httpClient = (yield* HttpClient.HttpClient).pipe(
    HttpClient.mapRequest((request) =>
      token === undefined ? request : HttpClientRequest.bearerToken(request, Redacted.value(token))
    ),
    HttpClient.transformResponse((answer) =>
      answer.pipe(
        Effect.flatMap((response) =>
          response.status >= 200 && response.status < 300
            ? Effect.succeed(response)
            : Effect.flatMap(response.text, (text) =>
                Effect.fail(failureFromHub(response.status, text, signedInAt))
              )
        ),
        Effect.timeoutOrElse({ duration: "20 seconds", orElse: () => Effect.fail(unreachable(url)) }),
        Effect.catchTag("HttpClientError", () => Effect.fail(unreachable(url)))
      )
    )
  )
  return yield* HttpApiClient.makeWith(UsedApi, { httpClient, baseUrl: url })
})

/** Typed calls of a Hub, by endpoint group. */
export type HubApiClient = Effect.Success<ReturnType<typeof connectToHub>>
