/**
 * Adapters that an Edge offers, by id; the built-in ones by default. Replaceable.
 *
 * Read once, when the Edge starts. `edge.config.json` adds profiles, runners and adapter packages to them.
 */
import { builtIn } from "@corral/adapters/Registry"
import { scriptedProgram } from "@corral/adapters/scriptedProgram"
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Context } from "effect"

export const RuntimeRegistry = Context.Reference<ReadonlyMap<string, AnyRuntimeAdapter>>(
  "corral/edge/RuntimeRegistry",
  { defaultValue: () => builtIn({ node: process.execPath, scriptedProgram }) }
)
