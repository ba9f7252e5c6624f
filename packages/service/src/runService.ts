/**
 * Service process that runs a layer: builds it, prints the ready line, and runs until SIGTERM, SIGINT or the end of its terminal. Then it
 * closes the layer within 10 s and exits with 0. A failed start prints one sentence to stderr and exits with 1.
 */
import { isatty } from "node:tty"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Logger, Option, Scope } from "effect"
import { exitWhenWritten } from "./exitWhenWritten.ts"

const STOP_LIMIT_MS = 10_000
/** Maximum wait for a stalled reader of the log at the end of the service. */
const WRITING_LIMIT_MS = 400

/** Whether the process has a terminal. Closing the terminal ends the process. */
const hasTerminal = (): boolean => [0, 1, 2].some((fd) => isatty(fd))

const endings = (): ReadonlyArray<NodeJS.Signals> => [
  "SIGTERM",
  "SIGINT",
  ...(hasTerminal() ? (["SIGHUP"] as const) : [])
]

const sentenceOf = (cause: Cause.Cause<unknown>): string => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return typeof error === "object" && error !== null && "message" in error
    ? String(error.message)
    : Cause.pretty(cause)
}

/** Owns the process and never returns. `ready` returns the line for stdout. `afterReady` runs directly after it. */
export const runService = <R, E>(
  layer: Layer.Layer<R, E>,
  ready: Effect.Effect<object, never, R>,
  afterReady?: () => void
): void => {
  const stderr = Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])
  const program = Effect.gen(function* () {
    const scope = yield* Scope.make()
    const stop = yield* Deferred.make<void>()
    // Node resets what `nohup` set. Without a handler, SIGHUP would end the service together with the process that started it.
    if (!hasTerminal()) process.on("SIGHUP", () => undefined)
    for (const signal of endings()) process.on(signal, () => Deferred.doneUnsafe(stop, Exit.void))
    // The launcher of an older Node started this process. It ends with the launcher.
    process.once("disconnect", () => Deferred.doneUnsafe(stop, Exit.void))
    const built = yield* Effect.raceFirst(
      Effect.exit(Layer.buildWithScope(layer, scope)),
      Effect.as(Deferred.await(stop), undefined)
    )
    if (built === undefined) {
      yield* Scope.close(scope, Exit.void)
      return 0
    }
    if (Exit.isFailure(built)) {
      process.stderr.write(`${sentenceOf(built.cause)}\n`)
      yield* Scope.close(scope, built)
      return 1
    }
    const line = yield* Effect.provideContext(ready, built.value)
    process.stdout.write(`${JSON.stringify(line)}\n`)
    afterReady?.()
    yield* Deferred.await(stop)
    // Detached: work that cannot be interrupted must not delay the exit.
    const closing = yield* Effect.forkDetach(Scope.close(scope, Exit.void))
    return yield* Effect.raceFirst(
      Effect.as(Fiber.join(closing), 0),
      Effect.as(Effect.sleep(STOP_LIMIT_MS - 500), 1)
    )
  })
  // The collector receives the spans of `CurrentTraces` alone. Spans of Effect and its libraries would cost CPU and reach no collector.
  const fiber = Effect.runFork(program.pipe(Effect.provide(stderr), Effect.withTracerEnabled(false)))
  fiber.addObserver((exit) => exitWhenWritten(Exit.isSuccess(exit) ? exit.value : 1, WRITING_LIMIT_MS))
}
