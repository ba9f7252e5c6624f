/** Sessions of a Hub, whose devices may be elsewhere. */
import type { Target } from "@corral/domain/device/Device"
import { roleRefusal } from "@corral/domain/access/Authorization"
import type { DeviceId, ProjectId, SessionId, WorkspaceId } from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import type { Project } from "@corral/domain/project/Project"
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

const denied = (message: string): CommandFailed =>
  new CommandFailed({ message, exitCode: exitCodes.refused, code: "permission_denied" })

const nothingLinked = (project: string, isViewer: boolean): CommandFailed =>
  isViewer
    ? refused(
        `The project ${escapeLine(project)} has no linked workspace. Its members link one in the console.`
      )
    : denied(`You can use no workspace in the project ${escapeLine(project)}. Link one in the console.`)

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

/** A linked workspace. */
interface LinkedWorkspace {
  readonly id: WorkspaceId
  readonly name: string
  readonly targetId: DeviceId
  /** `undefined` for a viewer, who sees no devices. */
  readonly target: Target | undefined
}

/** Linked workspaces of a project: those that a member can use, or those that a viewer can follow. */
const linkedWorkspaces = Effect.fnUntraced(function* (calls: HubApiClient, { id, name, role }: Project) {
  const isViewer = roleRefusal("session.write", role) !== undefined
  const targets = isViewer ? [] : yield* targetsOf(calls, id)
  const links = yield* readAllPages((query) => calls.projects.workspaces({ params: { id }, query }))
  const linked = links.items.flatMap(({ targetId, workspace }): ReadonlyArray<LinkedWorkspace> => {
    if (isViewer) return [{ id: workspace, name: workspace, targetId, target: undefined }]
    const target = targets.find((each) => each.id === targetId)
    const found = target?.workspaces.find((each) => each.id === workspace)
    return found === undefined ? [] : [{ id: workspace, name: found.name, targetId, target }]
  })
  return linked.length === 0 ? yield* nothingLinked(name, isViewer) : linked
})

/** The linked workspace of the open folder: what is named, what fits the folder, and otherwise what has one choice. */
export const linkedPlace = Effect.fnUntraced(function* (calls: HubApiClient, flags: PlaceFlags, cwd: string) {
  const project = yield* findProject(calls, flags.project)
  const linked = yield* linkedWorkspaces(calls, project)
  const wanted = Option.getOrUndefined(flags.target)
  const named = linked.filter(
    ({ target, targetId }) => wanted === undefined || targetId === wanted || target?.name === wanted
  )
  if (wanted !== undefined && named.length === 0) {
    const names = [...new Set(linked.flatMap(({ target }) => target?.name ?? []))].map(escapeLine)
    return yield* refused(
      names.length === 0
        ? `A viewer does not see the devices of the project ${escapeLine(project.name)}. Leave out \`--target\`.`
        : `No device ${escapeLine(wanted)} has a workspace of the project. Available: ${names.join(", ")}.`
    )
  }
  const { folder, workspace } = yield* workspaceOf(named, cwd, flags.workspace, true)
  return { folder, project, workspace }
})

/** Place of a new session. */
const placeFor = Effect.fnUntraced(function* (calls: HubApiClient, flags: PlaceFlags, cwd: string) {
  const { folder, project, workspace } = yield* linkedPlace(calls, flags, cwd)
  const { target } = workspace
  if (target === undefined)
    return yield* denied(
      `You are a viewer of the project ${escapeLine(project.name)}: you can open its sessions, but start none.`
    )
  const { id: agentId } = yield* agentFor(target.agents, flags.agent)
  const place: AgentPlace = {
    projectId: project.id,
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
