/**
 * Failure for an unset variable that a program's configuration reads its key from: "Missing environment variable: `X`".
 *
 * An adapter passes on only the variables that its program defines. Setting one of those for the Edge is enough to sign in. A profile has
 * to list any other variable.
 */
import type { RunFailure } from "@corral/domain/run/Run"
import { runtimeFailure } from "./OutputCollector.ts"

const isPassed = (name: string, passEnv: ReadonlyArray<string>): boolean =>
  passEnv.some((passed) => (passed.endsWith("*") ? name.startsWith(passed.slice(0, -1)) : name === passed))

/** The failure if `said` names a missing variable that the adapter does not pass on; otherwise `undefined`. */
export const missingVariable = (
  label: string,
  text: string,
  passEnv: ReadonlyArray<string>
): RunFailure | undefined => {
  const variable = /\bMissing environment variable:? `?([A-Za-z_][A-Za-z0-9_]{0,127})\b/i.exec(text)?.[1]
  if (variable === undefined || isPassed(variable, passEnv)) return undefined
  const message = `${label} needs the environment variable ${variable}, which its configuration names. Set it for the Edge, and list it under "env" of a profile in edge.config.json.`
  return runtimeFailure("env_missing", message, { variable })
}
