/** Names of environment variables that settings may name. */
import { capped } from "@corral/domain/text/CappedPattern"
import { Schema } from "effect"

/** A variable that may be set or passed for a run: none of Corral's own, and none by which a loader loads something else. */
export const EnvName = Schema.String.check(
  Schema.isPattern(capped(256, /^(?!CORRAL_|PATH$|LD_|DYLD_|NODE_OPTIONS$)[A-Za-z_][A-Za-z0-9_]*$/), {
    expected: "the name of a variable, none of Corral's own or the loader's"
  })
)
