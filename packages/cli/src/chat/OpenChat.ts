/** Chat with a Hub, in an earlier session or a new one, or with the Edge of this machine, with the runs of an earlier conversation or a new one. */
import type { SessionId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import type { Session, SessionItem } from "@corral/domain/session/Session"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { Clock, Effect, Option } from "effect"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import type { RunServerChoice } from "../Flags.ts"
import { type EdgeApiClient, connectToChosenEdge } from "../edge/EdgeClient.ts"
import { type HubApiClient, connectToSignedInHub, memberNames } from "../hub/HubClient.ts"
import { edgeRunServer } from "../run/EdgeRunServer.ts"
import { findProject, hubRunServer } from "../run/HubRunServer.ts"
import { resolveSessionId, selectByName } from "../run/IdArguments.ts"
import { choose } from "../terminal/Prompts.ts"
import { relativeTime } from "../terminal/ShownTime.ts"
import { EdgeThread } from "./EdgeThread.ts"
import { type AgentPlace, type PlaceFlags, placeOfSession, selectAgent, selectPlace } from "./HubPlace.ts"
import { HubThread } from "./HubThread.ts"

/** Which conversation: a new one, the latest, one that the user picks, or one by its id. */
export type Resumption =
  | { readonly kind: "new" | "latest" | "pick" }
  | { readonly kind: "id"; readonly start: string }

/** Active sessions, the latest first. */
export const activeSessions = Effect.fnUntraced(function* (calls: HubApiClient, choice: RunServerChoice) {
  const filter = Option.isNone(choice.project)
    ? {}
    : { projectId: (yield* findProject(calls, choice.project)).id }
  const { items } = yield* calls.sessions.list({ query: { ...filter, state: "active", limit: 200 } })
  return items.toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt))
})

const titleOf = ({ title, unread = 0, updatedAt }: SessionItem, now: number): string =>
  `${unread > 0 ? `(${unread}) ` : ""}${title === "" ? "Untitled" : title} · ${relativeTime(updatedAt, now)}`

const findSession = Effect.fnUntraced(function* (
  calls: HubApiClient,
  choice: RunServerChoice,
  resumption: Resumption
) {
  const id = yield* Effect.gen(function* () {
    if (resumption.kind === "new") return undefined
    if (resumption.kind === "id")
      return yield* resolveSessionId(activeSessions(calls, choice))(resumption.start)
    const sessions = yield* activeSessions(calls, choice)
    const now = yield* Clock.currentTimeMillis
    const [latest] = sessions
    if (latest === undefined)
      return yield* refused(
        "There is no conversation to continue. Start one without --resume and --continue."
      )
    return resumption.kind === "latest"
      ? latest.id
      : yield* choose(
          "Continue",
          sessions.map((session) => ({ title: titleOf(session, now), value: session.id }))
        )
  })
  return id === undefined ? undefined : yield* calls.sessions.get({ params: { id: id as SessionId } }) // ids of sessions
})

export interface HubChatRequest {
  readonly choice: RunServerChoice
  readonly flags: PlaceFlags
  readonly resumption: Resumption
}

/** Chat with a Hub: an earlier session, or a new one. */
export const openHubChat = Effect.fn("OpenChat.atHub")(function* ({
  choice,
  flags,
  resumption
}: HubChatRequest) {
  const { calls, ...signIn } = yield* connectToSignedInHub(choice.hub)
  const server = yield* hubRunServer(choice)
  const session = yield* findSession(calls, choice, resumption)
  if (session !== undefined && session.state !== "active")
    return yield* refused(`The session is ${session.state}. Reopen it in the console, or start another one.`)
  const found = session === undefined ? undefined : yield* placeOfSession(calls, session)
  const inProject =
    session === undefined ? flags : { ...flags, project: Option.some<string>(session.projectId) }
  const place = found ?? (yield* selectPlace(calls, inProject, true))
  const names = yield* memberNames(calls, place.projectId).pipe(
    Effect.orElseSucceed((): ReadonlyMap<string, string> => new Map())
  )
  const threadOf = (current: AgentPlace, of: Session | undefined): HubThread =>
    new HubThread({ calls, signIn, server, place: withMode(current, flags), session: of, names })
  const startNew: Effect.Effect<HubThread, CommandFailed> = Effect.sync(() =>
    threadOf({ ...place, instanceId: undefined }, undefined)
  )
  return { thread: threadOf(place, session), startNew }
})

const withMode = (place: AgentPlace, { mode }: PlaceFlags): AgentPlace =>
  Option.isSome(mode) ? { ...place, mode: mode.value } : place

export interface LocalSession {
  readonly id: string
  readonly title: string
  /** Oldest first. */
  readonly runs: ReadonlyArray<Run>
}

/** Conversations among the latest runs, the latest first. */
export const localSessions = (calls: EdgeApiClient) =>
  Effect.map(calls.runs.list({ query: { limit: 200 } }), ({ items }): ReadonlyArray<LocalSession> => {
    const bySession = Map.groupBy(
      items.filter(({ sessionId }) => sessionId !== undefined),
      ({ sessionId }) => sessionId ?? ""
    )
    return [...bySession].map(([id, runs]) => ({
      id,
      title: messageOfPrompt(runs.at(-1)?.input.text ?? "").split("\n")[0] ?? "",
      runs: runs.toReversed()
    }))
  })

const findRuns = Effect.fnUntraced(function* (calls: EdgeApiClient, resumption: Resumption) {
  if (resumption.kind === "new") return []
  const sessions = yield* localSessions(calls)
  if (resumption.kind === "id") {
    const id = yield* resolveSessionId(Effect.succeed(sessions))(resumption.start)
    const found = sessions.find((session) => session.id === id)
    return found?.runs ?? (yield* refused(`Session ${id} was not found on this machine.`))
  }
  const [latest] = sessions
  if (latest === undefined)
    return yield* refused("There is no conversation to continue. Start one without --resume and --continue.")
  return resumption.kind === "latest"
    ? latest.runs
    : yield* choose(
        "Continue",
        sessions.map(({ runs, title }) => ({ title, value: runs }))
      )
})

export interface EdgeChatRequest {
  readonly choice: RunServerChoice
  readonly flags: PlaceFlags
  readonly resumption: Resumption
}

/** Chat with the Edge of this machine: runs of an earlier conversation, or a new one. */
export const openEdgeChat = Effect.fn("OpenChat.atEdge")(function* ({
  choice,
  flags,
  resumption
}: EdgeChatRequest) {
  const server = yield* edgeRunServer(choice)
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof connectToChosenEdge>>>()
  const connect = Effect.provideContext(connectToChosenEdge(choice), services)
  const calls = yield* connect
  const runs = yield* findRuns(calls, resumption)
  const last = runs.at(-1)
  const { items: agents } = yield* calls.agents.list()
  const agent = yield* selectAgent(agents, last === undefined ? flags.agent : Option.some(last.agentId), true)
  const { items } = yield* calls.workspaces.list()
  const named = items.map((each) => ({ ...each, name: each.id }))
  const wanted = last?.workspace ?? Option.getOrUndefined(flags.workspace)
  const workspace =
    wanted === undefined && named.length > 1
      ? yield* choose(
          "Choose a workspace",
          named.map((value) => ({ title: value.id, value }))
        )
      : yield* selectByName("workspace", "--workspace", named, wanted)
  const now = yield* Clock.currentTimeMillis
  const threadOf = (earlier: ReadonlyArray<Run>, at: number): EdgeThread =>
    new EdgeThread({
      connect,
      server,
      agent,
      workspace: workspace.id,
      mode: Option.getOrElse(flags.mode, () => last?.mode ?? "ask"),
      isolation:
        flags.isolation === undefined || Option.isNone(flags.isolation)
          ? last?.isolation
          : flags.isolation.value,
      runs: earlier,
      now: at
    })
  const startNew: Effect.Effect<EdgeThread, CommandFailed> = Effect.map(Clock.currentTimeMillis, (at) =>
    threadOf([], at)
  )
  return { thread: threadOf(runs, now), startNew }
})
