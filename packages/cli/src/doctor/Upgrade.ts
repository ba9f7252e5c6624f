/** The holder of this home's runs, for `corral doctor --upgrade`. Loaded on demand. */
import { readEdgeConfig } from "@corral/edge/EdgeSettings"
import { type HolderFound, inquireHolder } from "@corral/edge/holder/HolderControl"
import { Effect } from "effect"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import { Host } from "../terminal/Host.ts"

export const findHolder: Effect.Effect<HolderFound | undefined, CommandFailed, Host> = Effect.gen(
  function* () {
    const { environment } = yield* Host
    const { home } = yield* Effect.mapError(readEdgeConfig(environment), ({ message }) => refused(message))
    return yield* Effect.mapError(
      inquireHolder(home),
      ({ message }) => new CommandFailed({ message, exitCode: exitCodes.failed })
    )
  }
)
