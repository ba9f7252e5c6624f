/**
 * Services of the listener: one workspace of the Edge of this machine, or one of a Hub. The workspace is chosen once, like that of `corral acp`. The
 * address and the sign-in are read for each connection.
 */
import { Effect, Redacted } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"
import { placeInEdge } from "../acp/EdgeSessions.ts"
import { linkedPlace } from "../acp/HubSessions.ts"
import type { PlaceFlags } from "../chat/HubPlace.ts"
import { connectToEdge } from "../edge/EdgeClient.ts"
import { locateEdge } from "../edge/EdgeLocation.ts"
import type { EdgeChoice, RunServerChoice } from "../Flags.ts"
import { connectToSignedInHub, requireSignIn } from "../hub/HubClient.ts"
import type { EditorService } from "./EditorListener.ts"

/** A service, and how the terminal names it. */
export interface ChosenService {
  readonly name: string
  readonly connection: Effect.Effect<EditorService, CommandFailed>
}

const socketUrl = (url: string): string => url.replace(/^http/, "ws")

const bearer = (token: Redacted.Redacted): string => `Bearer ${Redacted.value(token)}`

export const edgeService = Effect.fn("EditorServices.edge")(function* (
  choice: EdgeChoice,
  flags: PlaceFlags,
  folder: string
) {
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof locateEdge>>>()
  const calls = yield* Effect.flatMap(locateEdge(choice), connectToEdge)
  const { workspace } = yield* placeInEdge(calls, folder, flags.workspace)
  const connection = Effect.map(locateEdge(choice), ({ token, url }): EditorService => ({
    name: `the Edge at ${url}`,
    url: `${socketUrl(url)}/ahp/${encodeURIComponent(workspace.id)}`,
    authorization: bearer(token)
  }))
  return {
    name: `workspace ${workspace.id} of this machine`,
    connection: Effect.provideContext(connection, services)
  } satisfies ChosenService
})

export const hubService = Effect.fn("EditorServices.hub")(function* (
  choice: RunServerChoice,
  flags: PlaceFlags,
  cwd: string
) {
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof requireSignIn>>>()
  const { calls } = yield* connectToSignedInHub(choice.hub)
  const { folder, project, workspace } = yield* linkedPlace(calls, flags, cwd)
  const query = new URLSearchParams({
    projectId: project.id,
    targetId: workspace.targetId,
    workspace: workspace.id,
    folder
  })
  const connection = Effect.map(requireSignIn(choice.hub), ({ hub, token }): EditorService => ({
    name: `the Hub at ${hub}`,
    url: `${socketUrl(hub)}/client/ahp?${query.toString()}`,
    authorization: bearer(token)
  }))
  return {
    name:
      workspace.target === undefined
        ? `workspace ${workspace.id} of the project ${project.name}, to read`
        : `workspace ${workspace.id} on ${workspace.target.name}`,
    connection: Effect.provideContext(connection, services)
  } satisfies ChosenService
})
