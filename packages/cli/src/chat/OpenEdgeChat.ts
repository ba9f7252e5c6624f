/** Chat with the Edge of this machine: runs of an earlier conversation, or a new one. */
import type { Run } from "@corral/domain/run/Run"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { Clock, Effect, Option } from "effect"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { connectToChosenEdge, type EdgeApiClient } from "../edge/EdgeClient.ts"
import type { RunServerChoice } from "../Flags.ts"
import { edgeRunServer } from "../run/EdgeRunServer.ts"
import { resolveSessionId, selectByName } from "../run/IdArguments.ts"
import { choose } from "../terminal/Choose.ts"
import { EdgeThread } from "./EdgeThread.ts"
import { type PlaceFlags, selectAgent } from "./HubPlace.ts"
import type { Resumption } from "./OpenHubChat.ts"

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

export const openEdgeChat = Effect.fn("OpenEdgeChat.open")(function* ({
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
