/**
 * Settings of a service, read from an environment. Misspelled variables stop the start.
 */
import { type Config, ConfigProvider, Effect } from "effect"
import { type Environment, SettingInvalid } from "./Setting.ts"
import { settingNames } from "./settingNames.ts"

// Misspelled settings: a variable named `CORRAL_…` that no service reads stops the start.
//
// A variable of another service is not an error, so that services can share one file of settings.

/** Variables that Corral sets for its child processes, or that the `corral` command reads. */
const internalNames = [
  "CORRAL_ARTIFACTS",
  "CORRAL_EDGE_ID",
  "CORRAL_EDGE_URL",
  "CORRAL_LAUNCHED",
  "CORRAL_RUN_ID"
]

const knownNames: ReadonlySet<string> = new Set([...settingNames, ...internalNames])

const isForTests = (name: string): boolean => /^CORRAL_(TEST_|SEED$|PICTURES$|CHROMIUM$|PLAY$)/.test(name)

/** How many characters have to be inserted, removed, replaced or swapped with their neighbor to make one text of the other. */
const distance = (a: string, b: string): number => {
  let before: ReadonlyArray<number> = []
  let row: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : Infinity
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    ;[before, row] = [row, next]
  }
  return row[b.length] ?? 0
}

/** The candidate that is closest to the name. */
export const nearestName = (name: string, candidates: ReadonlyArray<string>): string | undefined =>
  candidates
    .map((candidate) => [distance(name, candidate), candidate] as const)
    .toSorted(([a], [b]) => a - b)[0]?.[1]

/** Fails with the first variable that is set and unknown, and the setting that was probably meant. */
export const checkVariables = (env: Environment): Effect.Effect<void, SettingInvalid> => {
  const unknown = Object.entries(env).find(
    ([name, value]) =>
      name.startsWith("CORRAL_") &&
      value !== undefined &&
      value !== "" &&
      !knownNames.has(name) &&
      !isForTests(name)
  )
  if (unknown === undefined) return Effect.void
  const [name] = unknown
  const nearest = nearestName(name, settingNames)
  return Effect.fail(
    new SettingInvalid({ message: `${name} is not a setting of Corral. Did you mean ${nearest}?` })
  )
}

/** Rejects misspelled variables, then reads the settings. */
export const readSettings = <A>(
  environment: Environment,
  config: Config.Config<A>
): Effect.Effect<A, SettingInvalid> =>
  config.parse(ConfigProvider.fromEnvRecord(environment)).pipe(
    Effect.mapError(({ cause }) => new SettingInvalid({ message: cause.message })),
    (settings) => Effect.andThen(checkVariables(environment), settings)
  )
