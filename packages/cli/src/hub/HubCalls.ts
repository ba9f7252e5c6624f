/**
 * Typed calls of a Hub. Every failure is a `CommandFailed` with the message of the Hub.
 *
 * Loaded on demand by `connectToHub`.
 */
import { effectCalls } from "@corral/client/effect/EffectCalls"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { HubApprovals } from "@corral/domain/hub-api/Approvals"
import { HubAudit } from "@corral/domain/hub-api/AuditTrail"
import { HubAuth, HubSignIn } from "@corral/domain/hub-api/Auth"
import { HubDeviceRegistration, HubDevices } from "@corral/domain/hub-api/Devices"
import { HubProjects } from "@corral/domain/hub-api/Projects"
import { HubRuns } from "@corral/domain/hub-api/Runs"
import { HubTasks } from "@corral/domain/hub-api/Tasks"
import type { Redacted } from "effect"
import { HttpApi } from "effect/http-api"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { hubFailure } from "./HubRefusal.ts"

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

/** Calls of the Hub at `url`, with a sign-in if there is one. */
export const makeHubCalls = (url: string, token?: Redacted.Redacted) => {
  const access = { url, timeoutMs: 20_000, ...(token === undefined ? {} : { token }) }
  const signedInAt = token === undefined ? undefined : url
  return effectCalls(UsedApi, access, ({ error }) => hubFailure(error, unreachable(url), signedInAt))
}
