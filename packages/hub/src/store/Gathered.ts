/**
 * Requests that share statements: what is asked while a statement runs is asked by the next one. The first request waits for nothing. Also the limit
 * of a statement's time.
 *
 * Guarantees: each request gets its own answer. After a defect, such as a damaged row, each request is tried alone. A failed statement, or
 * one without an answer in time, fails all its requests.
 */
import { Cause, Deferred, Duration, Effect, Exit, Fiber, type Scope } from "effect"
import { SqlError } from "effect/sql"

// Limit on statements that serve many requests at once.

/**
 * A statement that waits longer has lost its server without notice, or waits for a standby that is gone. Its requests fail, their links end, and
 * the Edges ask again.
 */
const STATEMENT_LIMIT = Duration.seconds(60)

export const withinStatementLimit = Effect.timeoutOrElse({
  duration: STATEMENT_LIMIT,
  orElse: () =>
    Effect.fail(
      new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: "no answer in time" }) })
    )
})

export interface GatheredOptions<Request, Answer> {
  /** Answers the requests, in their order. */
  readonly answer: (
    requests: ReadonlyArray<Request>
  ) => Effect.Effect<ReadonlyArray<Answer>, SqlError.SqlError>
  /** Requests per statement. */
  readonly limit?: number
  /** Time between two statements; none if absent. */
  readonly interval?: Duration.Input
}

interface WaitingRequest<Request, Answer> {
  readonly request: Request
  readonly answered: Deferred.Deferred<Answer, SqlError.SqlError>
}

export class Gathered<Request, Answer> {
  private readonly options: GatheredOptions<Request, Answer>
  private readonly fork: (effect: Effect.Effect<void>) => void
  private waiting: Array<WaitingRequest<Request, Answer>> = []
  private isRunning = false

  private constructor(
    options: GatheredOptions<Request, Answer>,
    fork: (effect: Effect.Effect<void>) => void
  ) {
    this.options = options
    this.fork = fork
  }

  /** Its statements end with the scope. */
  static make<Request, Answer>(
    options: GatheredOptions<Request, Answer>
  ): Effect.Effect<Gathered<Request, Answer>, never, Scope.Scope> {
    return Effect.gen(function* () {
      const scope = yield* Effect.scope
      const runFork = Effect.runForkWith(yield* Effect.context<never>())
      return new Gathered(options, (effect) => Fiber.runIn(runFork(effect), scope))
    })
  }

  ask(request: Request): Effect.Effect<Answer, SqlError.SqlError> {
    return Effect.suspend(() => {
      const answered = Deferred.makeUnsafe<Answer, SqlError.SqlError>()
      this.waiting.push({ request, answered })
      if (!this.isRunning) {
        this.isRunning = true
        this.fork(this.answerWaiting)
      }
      return Deferred.await(answered)
    })
  }

  private readonly answerWaiting: Effect.Effect<void> = Effect.whileLoop({
    while: () => {
      this.isRunning = this.waiting.length > 0
      return this.isRunning
    },
    body: () => {
      const { interval, limit = Infinity } = this.options
      // What arrives in this turn of the event loop is asked together.
      const settled = Effect.andThen(
        Effect.yieldNow,
        Effect.suspend(() => this.settle(this.waiting.splice(0, limit)))
      )
      return interval === undefined ? settled : Effect.andThen(settled, Effect.sleep(interval))
    },
    step: () => undefined
  })

  private settle(requests: ReadonlyArray<WaitingRequest<Request, Answer>>): Effect.Effect<void> {
    const answers = Effect.suspend(() => this.options.answer(requests.map(({ request }) => request)))
    return Effect.flatMap(Effect.exit(withinStatementLimit(answers)), (exit) => {
      if (Exit.isFailure(exit) && Cause.hasDies(exit.cause) && requests.length > 1)
        return Effect.forEach(requests, (request) => this.settle([request]), { discard: true })
      for (const [i, { answered }] of requests.entries())
        // There is an answer to each request.
        Deferred.doneUnsafe(
          answered,
          Exit.map(exit, (all) => all[i] as Answer)
        )
      return Effect.void
    })
  }
}
