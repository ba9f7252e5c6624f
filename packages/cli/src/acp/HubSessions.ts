/** Sessions of a Hub, whose devices may be elsewhere. */
import type { Target } from "@corral/domain/device/Device"
import type { ProjectId, SessionId } from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import type { Session } from "@corral/domain/session/Session"
import { Effect, Option } from "effect"
import { readAllPages } from "../AllPages.ts"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import { type AgentPlace, placeOfSession, type PlaceFlags } from "../chat/HubPlace.ts"
import { HubThread } from "../chat/HubThread.ts"
import type { RunServerChoice } from "../Flags.ts"
import { connectToSignedInHub, type HubApiClient, memberNames } from "../hub/HubClient.ts"
import { findProject, hubRunServer } from "../run/HubRunServer.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import {
  agentFor,
  type EditorSessions,
  offeredModes,
  type OpenedSession,
  sessionMissing,
  workspaceOf
} from "./EditorSessions.ts"

const PAGE = 100

const nothingLinked = (project: string): CommandFailed =>
  new CommandFailed({
    message: `You can use no workspace in the project ${escapeLine(project)}. Link one in the console, or ask the owner for the role of a member.`,
    exitCode: exitCodes.refused,
    code: "permission_denied"
  })

export const hubSessions = Effect.fn("HubSessions.make")(function* (
  choice: RunServerChoice,
  flags: PlaceFlags
) {
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof openThread>>>()
  const connect = Effect.provideContext(connectToSignedInHub(choice.hub), services)

  const opened = Effect.fnUntraced(function* (
    place: AgentPlace,
    session: Session | undefined,
    folder: string
  ) {
    const thread = yield* openThread(choice, place, session)
    const { calls } = yield* connect
    const target = (yield* targetsOf(calls, place.projectId)).find(({ id }) => id === place.targetId)
    const agent = findAgent(target?.agents, place.agentId)
    const workspace = target?.workspaces.find(({ id }) => id === place.workspace)
    return {
      id: yield* thread.begin,
      thread,
      modes: offeredModes(agent, workspace),
      activeRuns: thread.activeRuns,
      folder
    } satisfies OpenedSession
  })

  return {
    service: "Hub",
    acceptsFiles: true,
    check: Effect.flatMap(connect, ({ calls }) => Effect.asVoid(calls.auth.me())),
    create: (cwd) =>
      Effect.gen(function* () {
        const { calls } = yield* connect
        const { folder, place } = yield* placeFor(calls, flags, cwd)
        return yield* opened(place, undefined, folder)
      }).pipe(Effect.provideContext(services)),
    open: (id, cwd) =>
      Effect.gen(function* () {
        const { calls } = yield* connect
        // The Hub refuses what is not an id of a session.
        const session = yield* calls.sessions
          .get({ params: { id: id as SessionId } })
          .pipe(
            Effect.mapError((failure) =>
              failure.code === "schema_validation_failed" ? sessionMissing(id) : failure
            )
          )
        if (session.state !== "active")
          return yield* refused(
            `The session is ${session.state}. Reopen it in the console, or start another one.`
          )
        const place = yield* placeOfSession(calls, session)
        if (place === undefined)
          return yield* refused("The session has no agent. Add one in the console, or start another session.")
        return yield* opened(place, session, cwd)
      }).pipe(Effect.provideContext(services)),
    list: (_, cursor) =>
      Effect.gen(function* () {
        const { calls } = yield* connect
        const filter = Option.isNone(flags.project)
          ? {}
          : { projectId: (yield* findProject(calls, flags.project)).id }
        const page = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }
        const { items, nextCursor } = yield* calls.sessions.list({
          query: { ...filter, ...page, state: "active" }
        })
        return { sessions: items.map(({ id, title, updatedAt }) => ({ id, title, updatedAt })), nextCursor }
      })
  } satisfies EditorSessions
})

/** The linked workspace of the open folder: what is named, what fits the folder, and otherwise what has one choice. */
export const linkedPlace = Effect.fnUntraced(function* (calls: HubApiClient, flags: PlaceFlags, cwd: string) {
  const project = yield* findProject(calls, flags.project)
  const targets = yield* targetsOf(calls, project.id)
  const links = yield* readAllPages((query) =>
    calls.projects.workspaces({ params: { id: project.id }, query })
  )
  const linked = targets.flatMap((target) =>
    target.workspaces
      .filter(({ id }) =>
        links.items.some(({ targetId, workspace }) => targetId === target.id && workspace === id)
      )
      .map((workspace) => ({ ...workspace, target }))
  )
  // As the Hub refuses a task of a member who cannot send any.
  if (linked.length === 0) return yield* nothingLinked(project.name)
  const named = Option.match(flags.target, {
    onNone: () => linked,
    onSome: (wanted) => linked.filter(({ target }) => target.id === wanted || target.name === wanted)
  })
  const { folder, workspace } = yield* workspaceOf(named, cwd, flags.workspace, true)
  return { folder, projectId: project.id, target: workspace.target, workspace }
})

/** Place of a new session. */
const placeFor = Effect.fnUntraced(function* (calls: HubApiClient, flags: PlaceFlags, cwd: string) {
  const { folder, projectId, target, workspace } = yield* linkedPlace(calls, flags, cwd)
  const { id: agentId } = yield* agentFor(target.agents, flags.agent)
  const place: AgentPlace = {
    projectId,
    targetId: target.id,
    targetName: target.name,
    isOffline: target.state !== "online",
    workspace: workspace.id,
    agentId,
    mode: Option.getOrElse(flags.mode, () => "ask" as const),
    instanceId: undefined
  }
  return { place, folder }
})

const targetsOf = (calls: HubApiClient, projectId: ProjectId) =>
  Effect.map(
    readAllPages((query) => calls.devices.targets({ query: { ...query, projectId } })),
    ({ items }): ReadonlyArray<Target> => items
  )

const openThread = Effect.fnUntraced(function* (
  choice: RunServerChoice,
  place: AgentPlace,
  session: Session | undefined
) {
  const { calls, ...signIn } = yield* connectToSignedInHub(choice.hub)
  const server = yield* hubRunServer({ ...choice, project: Option.some<string>(place.projectId) })
  const names = yield* memberNames(calls, place.projectId).pipe(
    Effect.orElseSucceed((): ReadonlyMap<string, string> => new Map())
  )
  return new HubThread({ calls, signIn, server, place, session, names })
})
