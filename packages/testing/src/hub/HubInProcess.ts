/**
 * A Hub in the process of its tests: the layer that `node dist/hub` runs, with its own home, database, port and log. For tests of the Hub's
 * behaviour over HTTP; starting a process costs most of a second of CPU time, and its code is never warm.
 *
 * Does not: end by a signal other than SIGTERM. Tests of processes, exits and memory use `HubProcess`.
 */
import { HubConfig } from "@corral/hub/config/HubConfig"
import * as Hub from "@corral/hub/Hub"
import { HubServer } from "@corral/hub/http/Server"
import { readHubConfig } from "@corral/hub/HubSettings"
import { onTestFinished } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Layer, Logger, Scope } from "effect"
import { type HubExit, type HubOptions, HubProcess, type LaunchedHub } from "./HubProcess.ts"

export class HubInProcess extends HubProcess {
  protected override launch(): LaunchedHub {
    const logger = Logger.layer([
      Logger.map(Logger.formatLogFmt, (line) => {
        this.stderr += `${line}\n`
      })
    ])
    const hub = Layer.provide(Hub.hubLayer, Layer.effect(HubConfig, readHubConfig(this.environment)))
    const stop = Deferred.makeUnsafe<void>()
    let resolveReady: (line: string) => void = () => undefined
    const served = new Promise<string>((resolve) => (resolveReady = resolve))
    const program = Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(hub, scope).pipe(
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
      const { publicUrl, url } = Context.get(context, HubServer)
      resolveReady(JSON.stringify({ url, publicUrl }))
      yield* Deferred.await(stop)
      yield* Scope.close(scope, Exit.void)
    }).pipe(Effect.provide(logger), Effect.withTracerEnabled(false))
    const exited = Effect.runPromiseExit(program).then((exit): HubExit => {
      if (Exit.isFailure(exit)) this.stderr += `${String(exit.cause)}\n`
      return { code: Exit.isSuccess(exit) ? 0 : 1, signal: null }
    })
    return {
      pid: process.pid,
      signal: (name) => {
        if (name !== "SIGTERM") throw new Error(`a Hub in this process does not end by ${name}`)
        Deferred.doneUnsafe(stop, Exit.void)
      },
      ready: Promise.race([served, exited.then(() => undefined)]),
      exited
    }
  }
}

/** A Hub in this process for one test. */
export const openHubInProcess = async (options?: HubOptions): Promise<HubInProcess> => {
  const hub = new HubInProcess(options)
  onTestFinished(() => hub.remove())
  await hub.start()
  return hub
}
