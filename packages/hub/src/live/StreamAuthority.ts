/**
 * Authority over event streams: who may follow what, checked before a stream starts and for as long as it lasts.
 *
 * Guarantees: a stream ends immediately when its sign-in ends or its project's members change, and within a minute in any case.
 */
import { REAUTHORIZED_WITHIN_SECONDS } from "@corral/domain/http/StreamEnd"
import type { RequestId } from "@corral/domain/identity/Ids"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { Clock, Context, Effect, Fiber, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { type Credential, HubCredentials } from "../signin/HubCredentials.ts"
import { Notices } from "../store/Notices.ts"
import { makeStreamAdmission } from "./StreamAdmission.ts"
import type { HubSubscription, LostAccess, SignedInStream } from "./StreamSubscription.ts"

export class StreamAuthority extends Context.Service<
  StreamAuthority,
  {
    /** Finds what the target asks to follow. Fails when the caller may not follow it. */
    readonly admit: (
      target: string,
      credential: Credential,
      requestId: RequestId
    ) => Effect.Effect<HubSubscription, HttpRefusal | SqlError.SqlError>
    /** Calls `onLost` once, when an admitted stream must end, until the returned function is called. `onLost` must not throw. */
    readonly watch: (stream: Stream, onLost: (lost: LostAccess) => void) => () => void
  }
>()("corral/hub/StreamAuthority") {
  static readonly layer = Layer.effect(
    StreamAuthority,
    Effect.gen(function* () {
      const { admit, requireRead } = yield* makeStreamAdmission
      const credentials = yield* HubCredentials
      const clock = yield* Clock.Clock
      const notices = yield* Notices
      const scope = yield* Effect.scope
      const services = yield* Effect.context<never>()
      const now = () => clock.currentTimeMillisUnsafe()
      const watches = new Set<Watch>()

      /** Reason why the stream must end, if it must. */
      const lossOf = Effect.fnUntraced(function* (stream: Stream) {
        if (!(yield* credentials.isValid(stream.principal))) return "signInEnded"
        if (!("subject" in stream)) return undefined
        const { projectId, subject } = stream
        const resource = "runId" in subject ? subject.runId : subject.sessionId
        return yield* requireRead(stream, projectId, resource).pipe(
          Effect.as(undefined),
          Effect.catchTag("PermissionDenied", () => Effect.succeed("accessLost" as const))
        )
      })

      const endWatch = (watch: Watch, lost: LostAccess): void => {
        if (watches.delete(watch)) watch.onLost(lost)
      }

      const check = (watch: Watch) => {
        watch.checkedAt = now()
        return lossOf(watch.stream).pipe(
          Effect.map((lost) => lost && endWatch(watch, lost)),
          // Checked again in the next round: without the database there is nothing to read either.
          Effect.catchCause(() => Effect.sync(() => void (watch.checkedAt = 0)))
        )
      }

      const checkAll = (due: ReadonlyArray<Watch>) =>
        Effect.forEach(due, (watch) => Effect.suspend(() => check(watch)), { concurrency: 8, discard: true })

      const recheck = (isAffected: (stream: Stream) => boolean): void => {
        const due = [...watches].filter(({ stream }) => isAffected(stream))
        if (due.length > 0) Fiber.runIn(Effect.runForkWith(services)(checkAll(due)), scope)
      }

      notices.follow({
        onNotice: (kind, id) => {
          if (kind === "membership") recheck((stream) => "projectId" in stream && stream.projectId === id)
          if (kind !== "signInEnded") return
          for (const watch of watches)
            if (watch.stream.principal.signInId === id) endWatch(watch, "signInEnded")
        },
        onMissed: () => recheck(() => true)
      })

      yield* Effect.suspend(() => {
        const due = now() - CHECK_EVERY_MS
        return checkAll([...watches].filter(({ checkedAt }) => checkedAt < due))
      }).pipe(Effect.andThen(Effect.sleep("5 seconds")), Effect.forever, Effect.forkScoped)

      return StreamAuthority.of({
        admit,
        watch: (stream, onLost) => {
          const watch = { stream, onLost, checkedAt: now() }
          watches.add(watch)
          // The permission may have ended between admission and now, without a notice to this watch.
          recheck((other) => other === stream)
          return () => watches.delete(watch)
        }
      })
    })
  )
}

type Stream = HubSubscription | SignedInStream

interface Watch {
  readonly stream: Stream
  readonly onLost: (lost: LostAccess) => void
  /** Unix milliseconds. */
  checkedAt: number
}

/** Rounds start every 5 s; the margin covers a slow database. */
const CHECK_EVERY_MS = (REAUTHORIZED_WITHIN_SECONDS - 15) * 1_000
