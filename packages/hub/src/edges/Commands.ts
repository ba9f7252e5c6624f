/**
 * Commands to Edges: a row each, so that any Hub may ask and the one that holds the device's link may send. A command is sent again over each newer link
 * until it is answered; the Edge executes its id once.
 *
 * What was never sent can be taken back, and then surely did not happen. What was sent and is not answered is said to be unknown.
 */
import {
  type CommandId,
  type CommandOutcome,
  EdgeCommand,
  type CommandName,
  type CommandPayload
} from "@corral/domain/link/EdgeCommand"
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { mint } from "@corral/service/Identifiers"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { CurrentTraceparent, CurrentTraces } from "@corral/service/telemetry/Traces"
import { Clock, Context, Effect, Exit, Latch, Layer, Option, Result, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { hubMetrics } from "../HubMetrics.ts"
import { Notices } from "../store/Notices.ts"
import { channels } from "../store/Notice.ts"
import type { DeviceLink } from "./DeviceLink.ts"

export interface CommandRequest<N extends CommandName> {
  /** A run that must be known still: one that was withdrawn meanwhile is not asked for. */
  readonly requiredRun?: RunId
  /** Asked under the same id again, it is the same command, and its answer is kept. Absent: a new one. */
  readonly id?: CommandId
  /** It is to be sent whenever the device comes, whoever waits; it has an id. */
  readonly isDurable?: boolean
  /** Runs once the command is written: those that are asked for later come later. */
  readonly onWritten?: Effect.Effect<void>
  readonly targetId: DeviceId
  readonly name: N
  readonly payload: CommandPayload<N>
  /** Milliseconds for which an answer is waited for once it was sent; 10 s until then at most. */
  readonly answerTimeoutMs: number
}

/** `NotSent`: nobody has it, and nobody will. `Waits`: the same of one with an id, which is still to be sent. `Unknown`: it may have been done. */
export type CommandResult =
  | { readonly _tag: "Answered"; readonly outcome: CommandOutcome }
  | { readonly _tag: "NotSent" }
  | { readonly _tag: "Waits" }
  | { readonly _tag: "Unknown" }

/** The id under which a run is started: asked for again, it is the same start. */
export const startCommandId = (runId: RunId): CommandId => `start.${runId}` as CommandId

export class Commands extends Context.Service<
  Commands,
  {
    readonly send: <N extends CommandName>(
      asking: CommandRequest<N>
    ) => Effect.Effect<CommandResult, SqlError.SqlError>
    /** The next ones for that link, in the order in which they were asked: from now on sent. */
    readonly claim: (link: DeviceLink) => Effect.Effect<ReadonlyArray<EdgeCommand>, SqlError.SqlError>
    /** What was sent over that link may have been lost on the way: it is claimed again. */
    readonly resend: (link: DeviceLink) => Effect.Effect<void, SqlError.SqlError>
    /** The first answer holds. */
    readonly answer: (
      targetId: DeviceId,
      id: CommandId,
      outcome: CommandOutcome
    ) => Effect.Effect<void, SqlError.SqlError>
    /** The device does not come back: what it has not answered is refused as `target_offline`. */
    readonly refuseAll: (targetId: DeviceId) => Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/Commands") {
  static readonly layer = Layer.effect(
    Commands,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const notices = yield* Notices
      const clock = yield* Clock.Clock
      const metrics = yield* CurrentMetrics
      const traces = yield* CurrentTraces
      const now = () => clock.currentTimeMillisUnsafe()
      /** Who waits here for an answer, by the command. */
      const waiting = new Map<string, Set<() => void>>()

      const wake = (ids: Iterable<string>) => {
        for (const id of ids) for (const look of waiting.get(id) ?? []) look()
      }
      notices.follow({
        onNotice: (kind, payload) => kind === "commandDone" && wake([payload]),
        onMissed: () => wake(waiting.keys())
      })

      // Notices may be lost: whoever waits looks once a second. One look for all of them.
      const lookAfterAll = Effect.gen(function* () {
        if (waiting.size === 0) return
        const ids = [...waiting.keys()]
        const open = yield* sql<{ readonly id: string }>`
          SELECT id FROM edge_commands WHERE id = ANY(${ids}::text[]) AND outcome IS NULL`
        const unanswered = new Set(open.map(({ id }) => id))
        wake(ids.filter((id) => !unanswered.has(id)))
      })
      yield* lookAfterAll.pipe(
        Effect.catch((error) => Effect.logWarning("answers of commands are not looked for", error)),
        Effect.repeat(Schedule.spaced("1 second")),
        Effect.forkScoped
      )

      const forget = Effect.suspend(
        () => sql`
          DELETE FROM edge_commands
          WHERE created_at < ${new Date(now() - KEPT_MS)} OR (generation IS NULL AND expires_at < ${new Date(now() - UNSENT_MS)})`
      )
      yield* forget.pipe(
        Effect.catch((error) => Effect.logWarning("old commands are still there", error)),
        Effect.repeat(Schedule.spaced("10 minutes")),
        Effect.forkScoped
      )

      const sentence = Effect.fnUntraced(function* <N extends CommandName>(
        id: CommandId,
        { name, payload }: CommandRequest<N>,
        traceparent: string | undefined
      ) {
        const requestId = yield* Effect.serviceOption(CurrentRequestId)
        return JSON.stringify({
          name,
          commandId: id,
          ...(Option.isSome(requestId) ? { requestId: requestId.value } : {}),
          ...(traceparent === undefined ? {} : { traceparent }),
          payload
        })
      })

      /** Opens whenever someone tells that the command has changed, while `self` runs. */
      const watched = <A, E, R>(id: CommandId, self: (changed: Latch.Latch) => Effect.Effect<A, E, R>) =>
        Effect.suspend(() => {
          const changed = Latch.makeUnsafe(false)
          const look = () => void changed.openUnsafe()
          const looks = waiting.get(id) ?? new Set<() => void>()
          waiting.set(id, looks.add(look))
          const leave = Effect.sync(() => {
            looks.delete(look)
            if (looks.size === 0 && waiting.get(id) === looks) waiting.delete(id)
          })
          return Effect.ensuring(self(changed), leave)
        })

      const find = Effect.fnUntraced(function* (targetId: DeviceId, id: CommandId) {
        const [row] = yield* sql<Row>`
          SELECT c.generation IS NOT NULL AS sent, c.outcome, d.lease_until > ${new Date(now())} AS online
          FROM edge_commands c JOIN devices d ON d.id = c.target_id WHERE c.id = ${id} AND c.target_id = ${targetId}`
        return row
      })

      const made = (
        id: CommandId,
        { requiredRun, targetId }: CommandRequest<CommandName>,
        text: string,
        expires: Date | null
      ) => sql`
        WITH made AS (
          INSERT INTO edge_commands (id, target_id, command, created_at, expires_at)
          SELECT ${id}, devices.id, ${text}, ${new Date(now())}, ${expires}::timestamptz FROM devices
          ${requiredRun === undefined ? sql`` : sql`, (SELECT 1 FROM runs WHERE id = ${requiredRun} FOR KEY SHARE) known`}
          WHERE devices.id = ${targetId} AND revoked_at IS NULL AND lease_until > ${new Date(now())}
          ON CONFLICT (id) DO NOTHING RETURNING target_id
        ) SELECT pg_notify(${channels.command}, target_id) FROM made`

      const withdrawn = (id: CommandId) => sql`
        DELETE FROM edge_commands WHERE id = ${id} AND generation IS NULL AND outcome IS NULL`

      /** Waits for the answer, and takes the command back where nobody has it in time. */
      const settle = Effect.fnUntraced(function* (
        {
          isDurable = false,
          targetId,
          answerTimeoutMs
        }: Pick<CommandRequest<CommandName>, "isDurable" | "targetId" | "answerTimeoutMs">,
        id: CommandId,
        changed: Latch.Latch
      ) {
        const [unsentUntil, until] = [now() + Math.min(UNSENT_MS, answerTimeoutMs), now() + answerTimeoutMs]
        let wasSent = false
        for (;;) {
          changed.closeUnsafe()
          const row = yield* find(targetId, id)
          if (row === undefined) return wasSent ? unknown : notSent
          wasSent = row.sent
          // Written by `answer` and `refuseAll`.
          if (row.outcome !== null) return answered(JSON.parse(row.outcome) as CommandOutcome)
          const left = (row.sent ? until : unsentUntil) - now()
          // What lasts needs nobody who waits for a device that is away.
          if (left > 0 && (!isDurable || row.online === true)) {
            yield* Effect.timeoutOption(changed.await, left)
            continue
          }
          if (row.sent) return unknown
          if (isDurable) return waits
          yield* withdrawn(id)
        }
      })

      const brought = Effect.fnUntraced(function* <N extends CommandName>(
        id: CommandId,
        asking: CommandRequest<N>,
        traceparent: string | undefined
      ) {
        const { id: given, isDurable = false, name, answerTimeoutMs } = asking
        const text = yield* sentence(id, asking, traceparent)
        const expires = isDurable ? null : new Date(now() + Math.min(UNSENT_MS, answerTimeoutMs))
        const asked = watched(id, (changed) =>
          made(id, asking, text, expires).pipe(
            Effect.andThen(asking.onWritten ?? Effect.void),
            Effect.andThen(settle(asking, id, changed))
          )
        )
        if (isDurable) return yield* asked
        // Whoever goes away takes it back where that is possible.
        const came = yield* Effect.onInterrupt(asked, () => Effect.ignore(withdrawn(id)))
        if (given !== undefined) return came
        // Nobody can ask for it again.
        const over = came._tag === "Answered" || (came._tag === "Unknown" && isReadCommand(name))
        if (over) yield* sql`DELETE FROM edge_commands WHERE id = ${id}`
        return came
      })

      /** Counted, and a span from here to the answer, of which the Edge's own is a part. */
      const ask = Effect.fnUntraced(function* <N extends CommandName>(asking: CommandRequest<N>) {
        const { id: given, name } = asking
        const id = given ?? mint<CommandId>("cmd", now())
        const parent = yield* CurrentTraceparent
        const span = traces.start(`command ${name}`, "client", parent, { "corral.command.id": id })
        const over = (outcome: string) => {
          metrics.counter(hubMetrics.commands, { command: name, outcome }).add()
          span?.end({ "corral.command.outcome": outcome }, outcome === "failed")
        }
        return yield* brought(id, asking, span?.traceparent ?? parent).pipe(
          Effect.onExit((exit) =>
            Effect.sync(() => over(Exit.isSuccess(exit) ? wordOf(exit.value) : "failed"))
          )
        )
      })

      const answer = (targetId: DeviceId, id: CommandId, outcome: CommandOutcome) =>
        Effect.map(
          sql`
            WITH done AS (
              UPDATE edge_commands SET outcome = ${JSON.stringify(outcome)}, answered_at = ${new Date(now())}
              WHERE id = ${id} AND target_id = ${targetId} AND outcome IS NULL AND generation IS NOT NULL RETURNING id
            ) SELECT pg_notify(${channels.commandDone}, id) FROM done`,
          () => undefined
        )

      return Commands.of({
        send: ask,
        answer,

        claim: Effect.fnUntraced(function* ({ deviceId, generation }) {
          const rows = yield* sql<{ readonly id: CommandId; readonly seq: string; readonly command: string }>`
            UPDATE edge_commands SET generation = ${generation}, sent_at = ${new Date(now())}
            WHERE id IN (
              SELECT id FROM edge_commands WHERE target_id = ${deviceId} AND outcome IS NULL
                AND (generation < ${generation} OR (generation IS NULL AND (expires_at IS NULL OR expires_at > ${new Date(now())})))
              ORDER BY seq LIMIT ${sql.literal(String(CLAIMED))}
            ) AND outcome IS NULL AND EXISTS (SELECT 1 FROM devices WHERE id = ${deviceId} AND generation = ${generation} AND revoked_at IS NULL)
            RETURNING id, seq::text AS seq, command`
          const commands: Array<EdgeCommand> = []
          for (const { command, id } of rows.toSorted((a, b) => Number(a.seq) - Number(b.seq))) {
            const decoded = decodeCommand(command)
            if (Result.isSuccess(decoded)) commands.push(decoded.success)
            else {
              // Of another version of the Hub: no Edge would know it.
              yield* Effect.logError("a command cannot be sent", decoded.failure.message)
              yield* answer(deviceId, id, refusal("internal", "The command cannot be sent."))
            }
          }
          return commands
        }),

        resend: ({ deviceId, generation }) =>
          Effect.asVoid(sql`
            UPDATE edge_commands SET generation = ${generation - 1}
            WHERE target_id = ${deviceId} AND outcome IS NULL AND generation = ${generation}`),

        refuseAll: (targetId) =>
          Effect.asVoid(sql`
            WITH done AS (
              UPDATE edge_commands SET answered_at = ${new Date(now())},
                outcome = CASE WHEN generation IS NULL THEN ${JSON.stringify(refusal("target_offline", "The device was revoked."))}
                  ELSE ${JSON.stringify(refusal("target_offline", OUTCOME_UNKNOWN_MESSAGE, { outcome: "unknown" }))} END
              WHERE target_id = ${targetId} AND outcome IS NULL RETURNING id
            ) SELECT pg_notify(${channels.commandDone}, id) FROM done`)
      })
    })
  )
}

/** How long a command that nobody has is there to be sent. */
const UNSENT_MS = 10_000
/** How long answers are kept, and what was sent and never answered. */
const KEPT_MS = 7 * 86_400_000
/** Commands that are sent at once. */
const CLAIMED = 16

/** What is said where nobody knows what was done. */
export const OUTCOME_UNKNOWN_MESSAGE =
  "The target has not answered. It may have done it: the run's events will tell."

/** What came of it, in a word of few. */
const wordOf = (asked: CommandResult): string => {
  switch (asked._tag) {
    case "Answered":
      return asked.outcome._tag === "Done" ? "done" : "refused"
    case "NotSent":
      return "not_sent"
    case "Waits":
      return "waits"
    case "Unknown":
      return "unknown"
  }
}

const answered = (outcome: CommandOutcome): CommandResult => ({ _tag: "Answered", outcome })
const notSent: CommandResult = { _tag: "NotSent" }
const unknown: CommandResult = { _tag: "Unknown" }
const waits: CommandResult = { _tag: "Waits" }

/** Asked for again, it does no harm: nobody needs the answer that comes too late. */
export const isReadCommand = (name: CommandName): boolean =>
  name.startsWith("Read") || name.startsWith("List") || name === "OpenPreview"

interface Row {
  readonly sent: boolean
  readonly outcome: string | null
  readonly online: boolean | null
}

const decodeCommand = Schema.decodeUnknownResult(Schema.fromJsonString(EdgeCommand))

const refusal = (code: string, message: string, details?: Record<string, unknown>): CommandOutcome => ({
  _tag: "Refused",
  error: { code, message, ...(details === undefined ? {} : { details }) }
})
