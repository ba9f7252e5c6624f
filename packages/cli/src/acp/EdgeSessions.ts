/** Sessions of an Edge alone: runs of this machine that continue each other. */
import type { SessionId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { Clock, Effect, Option } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"
import { EdgeThread } from "../chat/EdgeThread.ts"
import type { PlaceFlags } from "../chat/HubPlace.ts"
import { type LocalSession, localSessions } from "../chat/OpenChat.ts"
import { newSessionId } from "../chat/RunChain.ts"
import { connectToChosenEdge, type EdgeApiClient } from "../edge/EdgeClient.ts"
import type { EdgeChoice } from "../Flags.ts"
import { edgeRunServer } from "../run/EdgeRunServer.ts"
import { type RunServer, hasEnded } from "../run/RunServer.ts"
import {
  agentFor,
  type EditorSessions,
  offeredModes,
  type OpenedSession,
  sessionMissing,
  workspaceOf
} from "./EditorSessions.ts"

/** Calls find the Edge again: a restarted one may have another address. */
const locating = (open: Effect.Effect<RunServer, CommandFailed>) =>
  Effect.map(open, (server): RunServer => ({
    ...server,
    run: (id) => Effect.flatMap(open, ({ run }) => run(id)),
    cancel: (id) => Effect.flatMap(open, ({ cancel }) => cancel(id)),
    decide: (id, decision) => Effect.flatMap(open, ({ decide }) => decide(id, decision)),
    answer: (id, answer) => Effect.flatMap(open, (current) => current.answer(id, answer))
  }))

/** The workspace of the folder that is open in the editor. */
export const placeInEdge = Effect.fnUntraced(function* (
  calls: EdgeApiClient,
  cwd: string,
  wanted: Option.Option<string>
) {
  const { items } = yield* calls.workspaces.list()
  return yield* workspaceOf(items, cwd, wanted, false)
})

export const edgeSessions = Effect.fn("EdgeSessions.make")(function* (choice: EdgeChoice, flags: PlaceFlags) {
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof edgeRunServer>>>()
  const connect = Effect.provideContext(connectToChosenEdge(choice), services)
  const open = Effect.provideContext(edgeRunServer(choice), services)

  const openRuns = Effect.fnUntraced(function* (
    calls: EdgeApiClient,
    cwd: string,
    sessionId: SessionId,
    runs: ReadonlyArray<Run>
  ) {
    const last = runs.at(-1)
    const wanted = last === undefined ? flags.workspace : Option.some<string>(last.workspace)
    const { folder, workspace } = yield* placeInEdge(calls, cwd, wanted)
    const { items } = yield* calls.agents.list()
    const agent = yield* agentFor(items, last === undefined ? flags.agent : Option.some<string>(last.agentId))
    const thread = new EdgeThread({
      connect,
      server: yield* locating(open),
      agent,
      workspace: workspace.id,
      mode: Option.getOrElse(flags.mode, () => last?.mode ?? ("ask" as const)),
      runs,
      now: yield* Clock.currentTimeMillis,
      sessionId
    })
    const activeRuns = runs.filter(({ state }) => !hasEnded(state)).map(({ id }) => id)
    return {
      id: sessionId,
      thread,
      modes: offeredModes(agent, workspace),
      activeRuns: () => activeRuns,
      folder
    } satisfies OpenedSession
  })

  const listed = ({ id, runs, title }: LocalSession) => ({
    id,
    title,
    updatedAt: runs.at(-1)?.updatedAt ?? ""
  })

  return {
    service: "Edge",
    acceptsFiles: false,
    check: Effect.asVoid(connect),
    create: (cwd) =>
      Effect.gen(function* () {
        const calls = yield* connect
        return yield* openRuns(calls, cwd, newSessionId(yield* Clock.currentTimeMillis), [])
      }).pipe(Effect.provideContext(services)),
    open: (id, cwd) =>
      Effect.gen(function* () {
        const calls = yield* connect
        const found = (yield* localSessions(calls)).find((session) => session.id === id)
        if (found === undefined) return yield* sessionMissing(id)
        // The id of a session that was found.
        return yield* openRuns(calls, cwd, found.id as SessionId, found.runs)
      }).pipe(Effect.provideContext(services)),
    list: (cwd) =>
      Effect.gen(function* () {
        const calls = yield* connect
        const { workspace } = yield* placeInEdge(calls, cwd, flags.workspace)
        const sessions = (yield* localSessions(calls)).filter(
          ({ runs }) => runs.at(-1)?.workspace === workspace.id
        )
        return { sessions: sessions.map(listed), nextCursor: null }
      })
  } satisfies EditorSessions
})
