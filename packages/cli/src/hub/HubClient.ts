/**
 * The parts of a Hub's HTTP contract that commands use, as typed calls. Whatever goes wrong comes out as `CommandFailed` with the Hub's
 * own sentence.
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
    message: `The Hub at ${url} does not answer: is the address right, and does it run?`,
    exitCode: exitCodes.failed,
    unreachable: true
  })

/** Calls to the Hub at `url`, with a sign-in where there is one. A redirect is not followed: it would carry what is sent elsewhere. */
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

/** Calls to a Hub, group by group. */
export type HubApiClient = Effect.Success<ReturnType<typeof connectToHub>>
