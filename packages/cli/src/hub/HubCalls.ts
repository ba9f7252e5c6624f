/**
 * Typed calls of a Hub. Every failure is a `CommandFailed` with the message of the Hub.
 *
 * Loaded on demand by `connectToHub`.
 */
import { effectCalls } from "@corral/client/effect/EffectCalls"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { HubApprovals } from "@corral/domain/hub-api/Approvals"
import { HubConversations, HubSessions } from "@corral/domain/hub-api/Sessions"
import { HubAudit } from "@corral/domain/hub-api/AuditTrail"
import { HubAuth, HubSignIn } from "@corral/domain/hub-api/Auth"
import { HubChanges } from "@corral/domain/hub-api/Changes"
import { HubDeviceRegistration, HubDevices } from "@corral/domain/hub-api/Devices"
import { HubInputs } from "@corral/domain/hub-api/Inputs"
import { HubPreferences } from "@corral/domain/hub-api/Preferences"
import { HubProjects } from "@corral/domain/hub-api/Projects"
import { HubRuns } from "@corral/domain/hub-api/Runs"
import { HubTaskGroups } from "@corral/domain/hub-api/TaskGroups"
import { HubTasks } from "@corral/domain/hub-api/Tasks"
import { HubUsage } from "@corral/domain/hub-api/Usage"
import { Effect, type Redacted } from "effect"
import { HttpApi } from "effect/http-api"
import { originAccess } from "../edge/EdgeClient.ts"
import { hubFailure, hubUnreachable } from "./HubRefusal.ts"

class UsedApi extends HttpApi.make("hub")
  .add(
    HubSignIn,
    HubAuth,
    HubDeviceRegistration,
    HubDevices,
    HubPreferences,
    HubProjects,
    HubTasks,
    HubTaskGroups,
    HubRuns,
    HubSessions,
    HubConversations,
    HubApprovals,
    HubInputs,
    HubChanges,
    HubUsage,
    HubAudit
  )
  .annotateMerge(HubApi.annotations) {}

/** Calls of the Hub at `url`, with a sign-in if there is one. */
export const makeHubCalls = (url: string, token?: Redacted.Redacted) => {
  const access = { url, timeoutMs: 20_000, ...(token === undefined ? {} : { token }) }
  const signedInAt = token === undefined ? undefined : url
  return Effect.flatMap(originAccess, (origin) =>
    effectCalls(UsedApi, { ...access, ...origin }, ({ error }) =>
      hubFailure(error, hubUnreachable(url), signedInAt)
    )
  )
}
