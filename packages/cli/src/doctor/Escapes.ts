/** Tests of the confinement for `corral doctor --probe`, with the settings of this machine's Edge. Needs no running Edge. */
import { EdgeConfig } from "@corral/edge/config/EdgeConfig"
import { Confinement } from "@corral/edge/confinement/Confinement"
import { probeEscapes, type ProbedAttempt } from "@corral/edge/confinement/probe/EscapeProbe"
import { readEdgeConfig } from "@corral/edge/EdgeSettings"
import { Effect, Layer, References } from "effect"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import { Host } from "../terminal/Host.ts"

/** Runs them, also if the setting of the Edge is `off`. Fails with a sentence if this machine cannot confine runs. */
export const findEscapes: Effect.Effect<ReadonlyArray<ProbedAttempt>, CommandFailed, Host> = Effect.gen(
  function* () {
    const { environment } = yield* Host
    const settings = yield* Effect.mapError(readEdgeConfig(environment), ({ message }) => refused(message))
    // A listed host may be this machine, which the attempts try to reach.
    const config: EdgeConfig = { ...settings, confinement: "required", runHosts: [] }
    const probe = Effect.gen(function* () {
      const { problem, hint = "", kind } = (yield* Confinement).readiness
      // Its attempts are those of a program on Linux.
      if (kind === "seatbelt")
        return yield* refused("The attempts are for Linux. This machine uses Seatbelt.")
      if (problem !== undefined) return yield* refused(`${problem} ${hint}`.trimEnd())
      return yield* Effect.mapError(
        probeEscapes(),
        ({ message }) => new CommandFailed({ message, exitCode: exitCodes.failed })
      )
    })
    return yield* probe.pipe(
      Effect.provide(Layer.provideMerge(Confinement.layer, Layer.succeed(EdgeConfig, config))),
      // The failure says what is missing.
      Effect.provideService(References.MinimumLogLevel, "None")
    )
  }
)
