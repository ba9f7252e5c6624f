/**
 * The Edge as the host of the Agent Host Protocol sees it, for the owner of its token, in one workspace or in all of them.
 *
 * Guarantees: calls are those of the HTTP routes, with the origin `editor`. Sessions and files of other workspaces are not found.
 * Does not: archive sessions, which an Edge does not have.
 */
import { STOPPED_IN_EDITOR } from "@corral/agent-host/fold/Lines"
import {
  type HostAgent,
  type HostBackend,
  type HostHint,
  type HostSession,
  type HostWorkspace,
  requireValid
} from "@corral/agent-host/host/HostBackend"
import { DecideApproval } from "@corral/domain/approval/Approval"
import {
  Conflict,
  NotFound,
  Overloaded,
  type WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import type { AgentId, RunId, SessionId, WorkspaceId } from "@corral/domain/identity/Ids"
import { InputAnswer } from "@corral/domain/input/InputRequest"
import { isReady, modesIn, usualMode } from "@corral/domain/offer/Offer"
import type { Agent } from "@corral/domain/run/Agent"
import { EventSequence } from "@corral/domain/run/EventSequence"
import { type Run, RunInput, type RunMode } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import type { Workspace } from "@corral/domain/device/Workspace"
import { Coalesced } from "@corral/service/Coalesced"
import { conflictOfGap, ReplayGap } from "@corral/service/stream/LogSource"
import { Effect, Stream } from "effect"
import { Changes } from "../change/Changes.ts"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { runLines } from "../log/EdgeLogSource.ts"
import { findRun } from "../log/Runs.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { Runtimes } from "../runtime/Runtimes.ts"
import { damageOptions } from "../store/StoreDamage.ts"
import { Store } from "../store/Store.ts"
import { listFolder, previewFile } from "../workspace/WorkspaceFiles.ts"
import { type OpenWorkspace, Workspaces } from "../workspace/Workspaces.ts"
import { agentHostMessages } from "./AgentHostMessages.ts"
import {
  type Conversation,
  conversations,
  findConversation,
  hostRun,
  hostSession,
  runsOfChat,
  sessionOfRun,
  startKeys
} from "./AgentHostSessions.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"
import { localDecisions } from "./Decisions.ts"

const MAX_ENTRIES = 1_000
const MAX_HUNKS = 200
/** What a batch of events contains if the state of its run may have changed. */
const MARKS = [
  '"run.approval.',
  '"run.input.',
  '"run.turn.',
  '"run.started"',
  '"run.paused"',
  '"run.resumed"'
]

/** Counts of changes that are kept until a decision is made. */
const MAX_COUNTED = 500

const services = Effect.gen(function* () {
  const changes = yield* Changes
  const counted = new Map<RunId, HostSession["changes"]>()
  yield* Effect.acquireRelease(
    Effect.sync(() => changes.follow(() => counted.clear())),
    (unfollow) => Effect.sync(unfollow)
  )
  return {
    changes,
    /** By the run that ended last. Every change of a session reads it, and a comparison of files takes its time. */
    counted,
    decisions: yield* localDecisions,
    log: yield* EdgeEventLog,
    messages: yield* agentHostMessages,
    runs: yield* RunSupervisor,
    runtimes: yield* Runtimes,
    store: yield* Store,
    workspaces: yield* Workspaces
  }
})

type HostServices = Effect.Success<typeof services>

/** Opens a backend for a connection. `place`: its only workspace; `undefined` for all. */
export const agentHostBackends = Effect.map(
  services,
  (all) =>
    (place: WorkspaceId | undefined): HostBackend => ({
      // A client continues in the workspace that it began in.
      caller: {
        id: [LOCAL_PRINCIPAL, place].join(" "),
        userId: LOCAL_PRINCIPAL,
        name: LOCAL_PRINCIPAL,
        kind: "local"
      },
      // The token is read once, at the start of the Edge.
      ended: Effect.never,
      ...offers(all, place),
      ...reads(all, place),
      ...decisions(all, place),
      ...changeSets(all, place),
      ...files(all, place)
    })
)

type Place = WorkspaceId | undefined

const linked = ({ workspaces }: HostServices, place: Place): Effect.Effect<ReadonlyArray<Workspace>> =>
  Effect.map(workspaces.list, (list) =>
    list.filter(({ available, id }) => available && (place === undefined || place === id))
  )

/** Modes of an agent in any of the workspaces, the usual one first. */
const modesOf = (agent: Agent, workspaces: ReadonlyArray<Workspace>): ReadonlyArray<RunMode> => {
  const modes = [...new Set(workspaces.flatMap((workspace) => modesIn(workspace, agent)))]
  const usual = usualMode(modes)
  return usual === undefined ? [] : [usual, ...modes.filter((mode) => mode !== usual)]
}

const offers = (all: HostServices, place: Place): Pick<HostBackend, "agents" | "workspaces"> => ({
  agents: Effect.gen(function* () {
    const workspaces = yield* linked(all, place)
    const agents = yield* all.runtimes.list
    return agents.filter(isReady).flatMap((agent): ReadonlyArray<HostAgent> => {
      const modes = modesOf(agent, workspaces)
      const { id, label, model, version } = agent
      const models = model === undefined ? [] : [{ id: model, name: model }]
      const description = version === undefined ? label : `${label} ${version}`
      return modes.length === 0 ? [] : [{ id, label, description, models, modes }]
    })
  }),
  workspaces: Effect.flatMap(linked(all, place), (list) =>
    Effect.forEach(list, ({ id, modes, name }) =>
      Effect.map(all.workspaces.open(id), ({ path }): HostWorkspace => ({ id, name, folder: path, modes }))
    )
  )
})

const workspacesOf = (all: HostServices, place: Place): Effect.Effect<ReadonlySet<WorkspaceId>> =>
  Effect.map(linked(all, place), (list) => new Set(list.map(({ id }) => id)))

const conversationOf = (
  all: HostServices,
  place: Place,
  id: SessionId
): Effect.Effect<Conversation, NotFound> =>
  Effect.flatMap(workspacesOf(all, place), (workspaces) => {
    const found = findConversation(all.store, workspaces, id)
    return found === undefined ? Effect.fail(new NotFound()) : Effect.succeed(found)
  })

/** A run in the workspaces of the connection. */
const runIn = ({ runs }: HostServices, place: Place, id: RunId): Effect.Effect<Run, NotFound> =>
  Effect.filterOrFail(
    runs.get(id),
    ({ workspace }) => place === undefined || workspace === place,
    () => new NotFound()
  )

/** The agent of a chat in the workspaces of the connection. */
const chatIn = (
  all: HostServices,
  place: Place,
  sessionId: SessionId,
  chatId: string
): Effect.Effect<AgentId, NotFound> =>
  Effect.flatMap(conversationOf(all, place, sessionId), (conversation) => {
    const [run] = runsOfChat(conversation, chatId)
    return run === undefined ? Effect.fail(new NotFound()) : Effect.succeed(run.agentId)
  })

const localRights = { maySend: true, mayDecide: true } as const

const sessionView = (conversation: Conversation) => ({
  ...hostSession(conversation),
  rights: localRights,
  people: new Map<string, string>()
})

/** Items after the one with the cursor. */
const pageOfItems = <A extends { readonly id: string }>(
  items: ReadonlyArray<A>,
  { cursor, limit }: { readonly cursor?: string; readonly limit: number }
) => {
  const start = cursor === undefined ? 0 : items.findIndex(({ id }) => id === cursor) + 1
  const page = items.slice(start, start + limit)
  const last = page.at(-1)
  return { page, nextCursor: start + limit < items.length && last !== undefined ? last.id : null }
}

const reads = (
  all: HostServices,
  place: Place
): Pick<HostBackend, "sessions" | "session" | "runs" | "events" | "hints"> => ({
  sessions: (options) =>
    Effect.map(workspacesOf(all, place), (workspaces) => {
      const { nextCursor, page } = pageOfItems(conversations(all.store, workspaces), options)
      return { items: page.map(sessionView), nextCursor }
    }),

  session: (id) =>
    Effect.gen(function* () {
      const conversation = yield* conversationOf(all, place, id)
      const last = conversation.runs.find(({ state }) => isTerminal(state))
      const changes = last === undefined ? undefined : yield* openChanges(all, last.id)
      return { ...sessionView(conversation), ...(changes === undefined ? {} : { changes }) }
    }),

  runs: ({ chatId, sessionId, ...options }) =>
    Effect.map(conversationOf(all, place, sessionId), (conversation) => {
      const { nextCursor, page } = pageOfItems(runsOfChat(conversation, chatId), options)
      const keys = startKeys(
        all.store,
        page.map(({ id }) => id)
      )
      const items = page.flatMap(({ id }) => {
        const run = findRun(all.store, id)
        return run === undefined ? [] : [hostRun(run, keys.get(id))]
      })
      return { items, nextCursor }
    }),

  events: (id, after) =>
    Stream.unwrap(
      Effect.map(runIn(all, place, id), () => {
        const sequence = new EventSequence(decodeReceivedEvent, after)
        return runLines(all.log, id, after).pipe(
          Stream.map((lines) => lines.flatMap((line) => sequence.next(line) ?? [])),
          Stream.flattenIterable,
          Stream.mapError((failure) =>
            failure instanceof ReplayGap
              ? conflictOfGap(all.log.lastSeq(id))
              : new Overloaded(damageOptions(failure))
          )
        )
      })
    ),

  hints: Stream.unwrap(hintsOf(all))
})

/** Sessions whose runs or changes are other ones than before. */
const hintsOf = Effect.fnUntraced(function* ({ changes, log, store }: HostServices) {
  const changed = new Set<SessionId>()
  const wakeUps = yield* Coalesced.make
  const report = (runId: RunId): void => {
    const run = findRun(store, runId)
    if (run === undefined) return
    changed.add(sessionOfRun(run))
    wakeUps.wake()
  }
  const unfollowLog = log.follow(undefined, {
    isObserver: true,
    receive: ({ firstSeq, lines, runId, terminal }) => {
      if (firstSeq === 1 || terminal || MARKS.some((mark) => lines.includes(mark))) report(runId)
    }
  })
  const unfollowChanges = changes.follow((setId) => report(setId.replace(/^chs_/, "run_") as RunId))
  yield* Effect.addFinalizer(() => Effect.sync(() => (unfollowLog(), unfollowChanges())))
  return Stream.fromIterableEffectRepeat(
    Effect.map(wakeUps.woken, (): ReadonlyArray<HostHint> => {
      const ids = [...changed]
      changed.clear()
      return ids.map((sessionId) => ({ kind: "session", sessionId }))
    })
  )
})

const decisions = (
  all: HostServices,
  place: Place
): Pick<HostBackend, "send" | "waiting" | "withdraw" | "cancel" | "decide" | "answer" | "archive"> => ({
  send: (message) =>
    Effect.gen(function* () {
      const { agentId, chatId = agentId, workspace } = message
      if (place !== undefined && workspace !== place) return yield* new NotFound()
      // Fails for a workspace that is no longer linked.
      yield* all.workspaces.open(workspace)
      if (chatId !== agentId) return yield* new NotFound()
      yield* requireValid(RunInput, { text: message.text })
      return yield* all.messages.send(message)
    }),

  waiting: ({ chatId, sessionId }) =>
    Effect.map(chatIn(all, place, sessionId, chatId), (agentId) =>
      all.messages.waiting({ sessionId, agentId })
    ),

  withdraw: ({ chatId, sessionId }, key) =>
    Effect.flatMap(chatIn(all, place, sessionId, chatId), (agentId) =>
      all.messages.withdraw({ sessionId, agentId }, key)
    ),

  cancel: (id) =>
    Effect.andThen(
      runIn(all, place, id),
      Effect.asVoid(all.runs.cancel(id, STOPPED_IN_EDITOR, LOCAL_PRINCIPAL))
    ),

  decide: (payload, key) =>
    Effect.andThen(
      Effect.andThen(runIn(all, place, payload.runId), requireValid(DecideApproval, payload)),
      Effect.asVoid(all.decisions.decide(payload, { key, origin: "editor" }))
    ),

  answer: (request, answer, key) =>
    runIn(all, place, request.runId).pipe(
      Effect.andThen(requireValid(InputAnswer, answer)),
      Effect.andThen(all.decisions.answer({ ...answer, ...request }, { key, origin: "editor" })),
      Effect.flatMap(({ body, replayed }) => (replayed ? Effect.void : all.messages.carryOut(body)))
    ),

  archive: () => Effect.fail(new Conflict({ message: "An Edge keeps its sessions. Archive them at a Hub." }))
})

/** What is undecided, or was written directly. `undefined` if there is nothing, or if it is unknown. */
const openChanges = ({ changes, counted }: HostServices, id: RunId): Effect.Effect<HostSession["changes"]> =>
  Effect.suspend(() => {
    if (counted.has(id)) return Effect.succeed(counted.get(id))
    return changes.summary(id).pipe(
      Effect.map(({ additions, deletions, fileCount }) =>
        fileCount > 0 ? { files: fileCount, additions, deletions } : undefined
      ),
      Effect.orElseSucceed(() => undefined),
      Effect.tap((count) =>
        Effect.sync(() => {
          const [oldest] = counted.size >= MAX_COUNTED ? counted.keys() : []
          if (oldest !== undefined) counted.delete(oldest)
          counted.set(id, count)
        })
      )
    )
  })

const changeSets = (
  all: HostServices,
  place: Place
): Pick<HostBackend, "changes" | "changedFile" | "decideChanges"> => ({
  changes: ({ chatId, limit, sessionId }) =>
    Effect.gen(function* () {
      const conversation = yield* conversationOf(all, place, sessionId)
      const last = runsOfChat(conversation, chatId).find(({ state }) => isTerminal(state))
      if (last === undefined) return yield* new NotFound()
      const { items, next, set } = yield* all.changes.read(last.id, undefined, limit)
      if (set.state === "empty") return yield* new NotFound()
      return { set, files: items, more: next !== undefined }
    }),

  changedFile: (id, file) =>
    Effect.andThen(
      runIn(all, place, id),
      all.changes.readFile(id, file, { position: undefined, limit: MAX_HUNKS })
    ),

  decideChanges: (id, { kind, payload }, key) => {
    const request = { key, origin: "editor" } as const
    const decided = Effect.suspend(() => {
      switch (kind) {
        case "accept":
          return all.decisions.decideChanges(kind, id, payload, request, all.changes.accept)
        case "reject":
          return all.decisions.decideChanges(kind, id, payload, request, all.changes.reject)
        case "undo":
          return all.decisions.decideChanges(kind, id, payload, request, all.changes.undo)
      }
    })
    return Effect.andThen(
      runIn(all, place, id),
      Effect.map(decided, ({ body }) => body)
    )
  }
})

const files = (all: HostServices, place: Place): Pick<HostBackend, "readFile" | "listFolder"> => {
  const root = (id: WorkspaceId): Effect.Effect<OpenWorkspace, NotFound | WorkspaceOutsideAllowlist> =>
    place === undefined || place === id ? all.workspaces.open(id) : Effect.fail(new NotFound())
  return {
    readFile: (id, path) => Effect.flatMap(root(id), (workspace) => previewFile(workspace.path, path)),
    listFolder: (id, path) =>
      Effect.map(
        Effect.flatMap(root(id), (workspace) => listFolder(workspace.path, path, undefined, MAX_ENTRIES + 1)),
        (items) => ({
          items: items.slice(0, MAX_ENTRIES),
          ...(items.length > MAX_ENTRIES ? { truncated: true as const } : {})
        })
      )
  }
}
