/**
 * A service's layer, run in the process of its tests as `runService` runs it in a process: until SIGTERM, with its log as text.
 *
 * Does not: end by other signals. Tests of processes, exits and memory start a process.
 */
import { type Context, Deferred, Effect, Exit, Layer, Logger, Scope } from "effect"

export interface RunningLayer {
  readonly pid: number
  readonly signal: (signal: NodeJS.Signals) => void
  /** The ready line; `undefined` if the layer could not be built. */
  readonly ready: Promise<string | undefined>
  readonly exited: Promise<{ readonly code: number; readonly signal: null }>
}

/** `readyLine` names its address. `onLog` receives each line of the log, and the cause of a failed start. */
export const runLayer = <R, E>(
  layer: Layer.Layer<R, E>,
  readyLine: (context: Context.Context<R>) => object,
  onLog: (line: string) => void
): RunningLayer => {
  const stop = Deferred.makeUnsafe<void>()
  const served = Promise.withResolvers<string>()
  const program = Effect.gen(function* () {
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(layer, scope).pipe(
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
    served.resolve(JSON.stringify(readyLine(context)))
    yield* Deferred.await(stop)
    yield* Scope.close(scope, Exit.void)
  })
  const logger = Logger.layer([Logger.map(Logger.formatLogFmt, onLog)])
  const exited = Effect.runPromiseExit(
    program.pipe(Effect.provide(logger), Effect.withTracerEnabled(false))
  ).then((exit) => {
    if (Exit.isFailure(exit)) onLog(String(exit.cause))
    return { code: Exit.isSuccess(exit) ? 0 : 1, signal: null }
  })
  return {
    pid: process.pid,
    signal: (name) => {
      if (name !== "SIGTERM") throw new Error(`a service in the process of its tests does not end by ${name}`)
      Deferred.doneUnsafe(stop, Exit.void)
    },
    ready: Promise.race([served.promise, exited.then(() => undefined)]),
    exited
  }
}
