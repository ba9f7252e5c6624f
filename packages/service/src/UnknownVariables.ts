/**
 * Misspelled settings: a variable named `CORRAL_…` that no service knows stops the start.
 *
 * A variable of another service is no error, so that services can share one file of settings. Each service knows its own by name, and
 * the others' by their first word.
 */
import { Effect } from "effect"
import { type Environment, type Setting, SettingInvalid } from "./Settings.ts"

export type ServiceName = "edge" | "gateway" | "hub"

/** The first words of each service's variables. */
const words: Readonly<Record<ServiceName, ReadonlyArray<string>>> = {
  edge: ["EDGE"],
  gateway: ["GATEWAY", "FEISHU", "SLACK"],
  hub: ["HUB", "OIDC"]
}

/** Known to several services, or set by Corral itself for what it starts. */
const shared: ReadonlySet<string> = new Set([
  "CORRAL_DATABASE_URL",
  "CORRAL_EDGE_ID",
  "CORRAL_HOME",
  "CORRAL_HUB_URL",
  "CORRAL_LAUNCHED",
  "CORRAL_RUN_ID"
])

const isForTests = (name: string): boolean => /^CORRAL_(TEST_|SEED$|PICTURES$|CHROMIUM$|PLAY$)/.test(name)

const isOf = (service: ServiceName, name: string): boolean =>
  words[service].some((word) => name.startsWith(`CORRAL_${word}_`))

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
export const nearest = (name: string, candidates: ReadonlyArray<string>): string | undefined =>
  candidates
    .map((candidate) => [distance(name, candidate), candidate] as const)
    .toSorted(([a], [b]) => a - b)[0]?.[1]

/** Fails with the first variable that is set and unknown, and the setting that was probably meant. */
export const checkVariables = (
  service: ServiceName,
  env: Environment,
  settings: ReadonlyArray<Setting>
): Effect.Effect<void, SettingInvalid> => {
  const names = new Set(settings.map(({ name }) => name))
  const others = (Object.keys(words) as ReadonlyArray<ServiceName>).filter((each) => each !== service)
  const unknown = Object.entries(env).find(
    ([name, value]) =>
      name.startsWith("CORRAL_") &&
      value !== undefined &&
      value !== "" &&
      !names.has(name) &&
      !shared.has(name) &&
      !isForTests(name) &&
      !others.some((other) => isOf(other, name))
  )
  if (unknown === undefined) return Effect.void
  const [name] = unknown
  const meant = nearest(name, [...names, ...shared])
  return Effect.fail(
    new SettingInvalid({ message: `${name} is not a setting of Corral. Did you mean ${meant}?` })
  )
}
