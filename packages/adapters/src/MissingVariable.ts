/**
 * A variable that a program's own configuration takes its key from, and that is not set: "Missing environment variable: `X`".
 *
 * An adapter passes the variables of its own program, so setting one of those for the Edge is signing in. Any other variable also has to be
 * passed on, which only a profile can say.
 */
import type { RunFailure } from "@corral/domain/Run"
import { unavailable } from "./Turn.ts"

const isPassed = (name: string, passEnv: ReadonlyArray<string>): boolean =>
  passEnv.some((passed) => (passed.endsWith("*") ? name.startsWith(passed.slice(0, -1)) : name === passed))

/** The failure where `said` names a missing variable that setting it alone does not pass on; `undefined` for any other words. */
export const missingVariable = (
  label: string,
  said: string,
  passEnv: ReadonlyArray<string>
): RunFailure | undefined => {
  const variable = /\bMissing environment variable:? `?([A-Za-z_][A-Za-z0-9_]{0,127})\b/i.exec(said)?.[1]
  if (variable === undefined || isPassed(variable, passEnv)) return undefined
  const message = `${label} needs the environment variable ${variable}, which its configuration names. Set it for the Edge, and list it under "env" of a profile in edge.config.json.`
  return unavailable("env_missing", message, { variable })
}
