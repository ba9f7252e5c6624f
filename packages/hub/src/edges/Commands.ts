/**
 * Commands to Edges. Any Hub writes a command as a row; the Hub that holds the device's link claims and sends it, or writes it as sent. A command is
 * sent again over each newer link until it is answered. The Edge executes an id once.
 *
 * Guarantees: a command that was never sent can be withdrawn, and then never happens. A command that was sent and not answered has an
 * unknown outcome.
 */
import type { DeviceId } from "@corral/domain/identity/Ids"
import type { CommandId, CommandName, CommandOutcome, EdgeCommand } from "@corral/domain/link/EdgeCommand"
import { mint } from "@corral/service/Identifiers"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { CurrentTraceparent, CurrentTraces } from "@corral/service/telemetry/Traces"
import { Clock, Context, Effect, Exit, Latch, Layer, Schedule, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { hubMetrics } from "../HubMetrics.ts"
import type { DeviceLink } from "../device/DeviceRow.ts"
import { Gathered } from "../store/Gathered.ts"
import { Notices } from "../store/Notices.ts"
import { PlannedSql } from "../store/Database.ts"
import { doSharedWork } from "../store/SharedWork.ts"
import {
  type CommandRequest,
  CommandResult,
  encodeCommand,
  isReadCommand,
  outcomeLabel
} from "./CommandRequest.ts"
import { type ClaimedCommands, CommandTable, UNSENT_MS, decodeCommand } from "./CommandTable.ts"

export class Commands extends Context.Service<
  Commands,
  {
    readonly send: <N extends CommandName>(
      request: CommandRequest<N>
    ) => Effect.Effect<CommandResult, SqlError.SqlError>
    /** Registers a link's stream of commands on this Hub, until the scope closes. */
    readonly openStream: (stream: CommandStream) => Effect.Effect<void, never, Scope.Scope>
    /** Whether commands of the device have no answer. */
    readonly hasOpen: (deviceId: DeviceId) => Effect.Effect<boolean, SqlError.SqlError>
    /** The next commands for that link in the order of their requests. They count as sent. */
    readonly claim: (link: DeviceLink) => Effect.Effect<ClaimedCommands, SqlError.SqlError>
    /** Lets the commands that were sent over that link be claimed again: they may have been lost on the way. */
    readonly resend: (link: DeviceLink) => Effect.Effect<void, SqlError.SqlError>
    /** Stores an answer. The first answer wins. Returns `false`, and stores nothing, where the link is not the newest of its device. */
    readonly answer: (
      link: DeviceLink,
      id: CommandId,
      outcome: CommandOutcome
    ) => Effect.Effect<boolean, SqlError.SqlError>
    /** Refuses the open commands of a device that does not come back as `target_offline`. */
    readonly refuseAll: (targetId: DeviceId) => Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/Commands") {
  static readonly layer = Layer.effect(
    Commands,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()
      const table = new CommandTable(yield* PlannedSql, now)
      const waiters = new CommandWaiters()
      const streams = new CommandStreams()
      const sender: Sender = { table, waiters, streams, now, discard: yield* makeDiscard(table) }
      const open = yield* Gathered.make({ answer: (ids: ReadonlyArray<DeviceId>) => table.findOpen(ids) })
      const metrics = yield* CurrentMetrics
      const traces = yield* CurrentTraces

      yield* followAnswers(sender)
      yield* doSharedWork("commands", "10 minutes", table.deleteExpired())

      return Commands.of({
        // The exported span lasts until the answer; the Edge's own span is part of it.
        send: Effect.fn("Commands.send")(function* (request) {
          const { name } = request
          const id = request.id ?? mint<CommandId>("cmd", now())
          const parent = yield* CurrentTraceparent
          const span = traces.start(`command ${name}`, "client", parent, { "corral.command.id": id })
          const end = (outcome: string) => {
            metrics.counter(hubMetrics.commands, { command: name, outcome }).add()
            span?.end({ "corral.command.outcome": outcome }, outcome === "failed")
          }
          return yield* send(sender, id, request, span?.traceparent ?? parent).pipe(
            Effect.onExit((exit) =>
              Effect.sync(() => end(Exit.isSuccess(exit) ? outcomeLabel(exit.value) : "failed"))
            )
          )
        }),
        openStream: (stream) => streams.register(stream),
        answer: Effect.fn("Commands.answer")(function* (link, id, outcome) {
          const { isNewest, isStored } = yield* table.answerOver(link, id, outcome)
          if (isStored) {
            waiters.settle(id, outcome)
            yield* table.wakeCallers(id)
          }
          return isNewest
        }, Effect.uninterruptible),
        hasOpen: (deviceId) => open.ask(deviceId),
        claim: Effect.fn("Commands.claim")(function* (link) {
          return yield* table.claim(link)
        }),
        resend: Effect.fn("Commands.resend")(function* (link) {
          yield* table.resend(link)
        }),
        refuseAll: Effect.fn("Commands.refuseAll")(function* (targetId) {
          yield* table.refuseAll(targetId)
        })
      })
    })
  )
}

/** State shared by all commands of this process. */
interface Sender {
  readonly table: CommandTable
  readonly waiters: CommandWaiters
  readonly streams: CommandStreams
  /** Unix milliseconds. */
  readonly now: () => number
  /** Deletes an answered command, later. */
  readonly discard: (id: CommandId) => void
}

const followAnswers = Effect.fnUntraced(function* ({ table, waiters }: Sender) {
  const notices = yield* Notices
  notices.follow({
    onNotice: (kind, payload) => kind === "commandDone" && waiters.wake([payload]),
    onMissed: () => waiters.wakeAll()
  })
  yield* waiters.wakeAnswered(table).pipe(
    Effect.catchCause((cause) => Effect.logWarning("failed to look up answered commands", cause)),
    Effect.repeat(Schedule.spaced("1 second")),
    Effect.forkScoped
  )
})

/**
 * Writes the command, and sends it if this process holds an idle stream of the device. Returns whether the command is new. It is not interrupted: a command
 * that was written is sent, or its device is woken.
 */
const write = Effect.fnUntraced(function* (
  { streams, table }: Sender,
  id: CommandId,
  request: CommandRequest,
  text: string,
  expiresAt: Date | null
) {
  const stream = streams.idleOf(request.targetId)
  const { isNew, isSent } = yield* table.insert(id, request, text, expiresAt, stream?.link)
  if (isSent) stream?.offer(yield* Effect.orDie(Effect.fromResult(decodeCommand(text))))
  return isNew
}, Effect.uninterruptible)

/** Writes the command, waits for its answer and cleans up after it. */
const send = Effect.fnUntraced(function* (
  sender: Sender,
  id: CommandId,
  request: CommandRequest,
  traceparent: string | undefined
) {
  const { discard, now, table, waiters } = sender
  const { answerTimeoutMs, isDurable = false, name, onWritten = Effect.void } = request
  const text = yield* encodeCommand(id, request, traceparent)
  const expiresAt = isDurable ? null : new Date(now() + Math.min(UNSENT_MS, answerTimeoutMs))
  const answered = waiters.watch(id, (watched) =>
    Effect.flatMap(Effect.tap(write(sender, id, request, text, expiresAt), onWritten), (isNew) =>
      awaitOutcome(table, now, id, request, watched, isNew)
    )
  )
  if (isDurable) return yield* answered
  // A caller that leaves withdraws its command where that is still possible.
  const result = yield* Effect.onInterrupt(answered, () => Effect.ignore(table.deleteUnsent(id)))
  if (request.id !== undefined) return result
  // The id is unknown to every caller, so no request can ask for this answer again.
  const isOver = result._tag === "Answered" || (result._tag === "Unknown" && isReadCommand(name))
  if (isOver) discard(id)
  return result
})

/** Waits for the answer. Withdraws the command if it was not sent in time. `isNew`: this caller has just written the command. */
const awaitOutcome = Effect.fnUntraced(function* (
  table: CommandTable,
  now: () => number,
  id: CommandId,
  { answerTimeoutMs, isDurable = false, targetId }: CommandRequest,
  watched: WatchedCommand,
  isNew: boolean
) {
  const [sendUntil, answerUntil] = [now() + Math.min(UNSENT_MS, answerTimeoutMs), now() + answerTimeoutMs]
  let wasSent = false
  if (isNew) yield* Effect.timeoutOption(watched.changed.await, sendUntil - now())
  for (;;) {
    if (watched.outcome !== undefined) return CommandResult.answered(watched.outcome)
    watched.changed.closeUnsafe()
    const progress = yield* table.find(targetId, id)
    if (progress === undefined) return wasSent ? CommandResult.unknown : CommandResult.notSent
    wasSent = progress.wasSent
    if (progress.outcome !== undefined) return CommandResult.answered(progress.outcome)
    const left = (wasSent ? answerUntil : sendUntil) - now()
    // A durable command for an offline device needs no caller that waits.
    if (left > 0 && (!isDurable || progress.isOnline)) {
      yield* Effect.timeoutOption(watched.changed.await, left)
      continue
    }
    if (wasSent) return CommandResult.unknown
    if (isDurable) return CommandResult.waits
    yield* table.deleteUnsent(id)
  }
})

/** Returns what deletes commands whose answers have reached their callers: later, many at a time. A Hub that crashes leaves them to `deleteExpired`. */
const makeDiscard = Effect.fnUntraced(function* (table: CommandTable) {
  const discarded = new Set<CommandId>()
  const hasMore = Latch.makeUnsafe(false)
  const deleteDiscarded = Effect.suspend(() => {
    hasMore.closeUnsafe()
    const ids = [...discarded]
    discarded.clear()
    return table.deleteAll(ids)
  })
  yield* Effect.andThen(hasMore.await, deleteDiscarded).pipe(
    Effect.catchCause((cause) => Effect.logWarning("failed to delete answered commands", cause)),
    Effect.andThen(Effect.sleep("1 second")),
    Effect.forever,
    Effect.forkScoped
  )
  return (id: CommandId): void => {
    discarded.add(id)
    hasMore.openUnsafe()
  }
})

/**
 * Streams of commands of the links that this process holds, by device. A command that is requested here can then be stored as sent, and needs no claim.
 */
interface CommandStream {
  readonly link: DeviceLink
  /** Whether the stream sends commands immediately: it claims none now, and has room. */
  readonly isIdle: () => boolean
  /** Sends a command that is stored as sent over the link. A stream that has ended leaves it to the next link. */
  readonly offer: (command: EdgeCommand) => void
}

class CommandStreams {
  private readonly streams = new Map<DeviceId, CommandStream>()

  /** Registers the stream until the scope closes. */
  register(stream: CommandStream): Effect.Effect<void, never, Scope.Scope> {
    const { deviceId, generation } = stream.link
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          const registered = this.streams.get(deviceId)
          if (registered === undefined || registered.link.generation <= generation)
            this.streams.set(deviceId, stream)
        }),
        () =>
          Effect.sync(() => {
            if (this.streams.get(deviceId) === stream) this.streams.delete(deviceId)
          })
      )
    )
  }

  /** The idle stream of the device, if this process has one. */
  idleOf(deviceId: DeviceId): CommandStream | undefined {
    const stream = this.streams.get(deviceId)
    return stream?.isIdle() === true ? stream : undefined
  }
}

/**
 * Callers of this process that wait for a command to change.
 *
 * Notices can be lost. Once a second, `wakeAnswered` looks up every awaited command in one statement.
 */
type Listener = (outcome?: CommandOutcome) => void

/** A command that a caller waits for. */
interface WatchedCommand {
  /** Opens whenever the command may have changed. */
  readonly changed: Latch.Latch
  /** The answer, if this process has stored it. */
  outcome: CommandOutcome | undefined
}

class CommandWaiters {
  private readonly listeners = new Map<string, Set<Listener>>()

  /** Runs `self` with what becomes known of the command. */
  watch<A, E, R>(
    id: CommandId,
    self: (watched: WatchedCommand) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const watched: WatchedCommand = { changed: Latch.makeUnsafe(false), outcome: undefined }
      const wake = (outcome?: CommandOutcome) => {
        watched.outcome ??= outcome
        watched.changed.openUnsafe()
      }
      const listeners = this.listeners.get(id) ?? new Set<Listener>()
      this.listeners.set(id, listeners.add(wake))
      const leave = Effect.sync(() => {
        listeners.delete(wake)
        if (listeners.size === 0 && this.listeners.get(id) === listeners) this.listeners.delete(id)
      })
      return Effect.ensuring(self(watched), leave)
    })
  }

  wake(ids: Iterable<string>): void {
    for (const id of ids) for (const wake of this.listeners.get(id) ?? []) wake()
  }

  /** Passes on an answer that is stored. */
  settle(id: CommandId, outcome: CommandOutcome): void {
    for (const wake of this.listeners.get(id) ?? []) wake(outcome)
  }

  wakeAll(): void {
    this.wake(this.listeners.keys())
  }

  wakeAnswered(table: CommandTable) {
    return Effect.suspend(() => {
      const ids = [...this.listeners.keys()]
      if (ids.length === 0) return Effect.void
      return Effect.map(table.findUnanswered(ids), (open) => this.wake(ids.filter((id) => !open.has(id))))
    })
  }
}
