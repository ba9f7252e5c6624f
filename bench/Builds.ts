/** Programs of the builds under measurement: this one, and an earlier one where `--against` names it. */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

/** `previous`: an earlier build, if one is measured too. `volatile`: the floor without durability, of an Edge. */
export type BenchSide = "floor" | "edge" | "previous" | "volatile"

/** Whether the side is the floor, with or without durability. */
export const isFloor = (side: BenchSide): side is "floor" | "volatile" =>
  side === "floor" || side === "volatile"

export interface BuildOptions {
  /** The built Edge's entry. Other programs of the build are next to its folder. */
  readonly entry: string
  /** The entry of an earlier build, measured in turns with this one. */
  readonly against?: string | undefined
  /** Whether the floor is also measured without durability. */
  readonly hasVolatile?: boolean | undefined
}

/** The Edge of a build. */
export const entryOf = ({ against, entry }: BuildOptions, side: BenchSide): string =>
  side === "previous" ? (against ?? entry) : entry

/** Another program of a build. */
export const builtProgram = (
  options: BuildOptions,
  side: BenchSide,
  name: "corral" | "gateway" | "hub"
): string => join(dirname(entryOf(options, side)), "..", name, name === "corral" ? "main.mjs" : "index.js")

/** The settings that a build knows. It refuses others. */
export const knownSettings = (
  options: BuildOptions,
  side: BenchSide,
  settings: Readonly<Record<string, string>>
): Readonly<Record<string, string>> => {
  if (side !== "previous") return settings
  const program = readFileSync(join(dirname(entryOf(options, side)), "main.cjs"), "utf8")
  return Object.fromEntries(Object.entries(settings).filter(([name]) => program.includes(`"${name}"`)))
}

/** Arguments of Node for a program of this build that leaves CPU profiles. */
export const profilingOf = (profile: string | undefined, side: BenchSide): ReadonlyArray<string> =>
  profile === undefined || side !== "edge" ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`]

/**
 * One figure that a benchmark measures in its own process, as the earlier build's checkout measures it in one round: builds have no modules to
 * import. The checkout needs its sources and packages.
 */
export const previousFigure = (
  { against = "" }: BuildOptions,
  { figure, name, only }: { readonly figure: string; readonly name: string; readonly only: string }
): number => {
  const checkout = join(dirname(against), "..", "..")
  const main = join(checkout, "bench", "main.ts")
  if (!existsSync(main))
    throw new Error(`${name} needs the checkout of the earlier build: there is no ${main}`)
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    [main, name, "--only", only, "--rounds", "1", "--entry", against],
    { cwd: checkout, encoding: "utf8" }
  )
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"))
  const found = lines
    .map((line) => JSON.parse(line) as { readonly figure: string; readonly edge: number })
    .find((line) => line.figure === figure)
  if (found === undefined) throw new Error(`the earlier build has no "${figure}" (${status}): ${stderr}`)
  return found.edge
}
