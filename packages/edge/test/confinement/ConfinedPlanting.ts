/** A run that plants generated files in the state of every runtime at once, and the user's home before and after it. */
import type { RunMode } from "@corral/domain/run/Run"
import { registry } from "@corral/testing/recordings/Fixtures"
import { assert } from "@effect/vitest"
import { Seeded } from "../harness/Seeded.ts"
import { runConfined } from "./ConfinedScript.ts"
import { plantedState, plantingScript } from "./PlantedState.ts"
import { StateHome, write } from "./StateHome.ts"

export const confinedModes = [
  "read_only",
  "plan",
  "ask",
  "auto_edit"
] as const satisfies ReadonlyArray<RunMode>

/** The state of every runtime. */
export const allFolders = {
  state: [...new Set([...registry.values()].flatMap(({ folders }) => folders?.state ?? []))]
}

/** Runs the script in the place, to its last line. */
export const runScript = async (
  { edge, home, workspace }: StateHome,
  mode: RunMode,
  script: string
): Promise<void> => {
  const output = await runConfined({
    edge,
    folders: allFolders,
    home,
    mode,
    workspace,
    script: `${script}\necho planted`
  })
  assert.include(output, "planted")
}

/** Plants that number of files in a mode. */
export const assertNothingPlanted = async (mode: RunMode, count: number): Promise<void> => {
  const seeded = new Seeded(`planted in ${mode}`)
  const place = new StateHome(allFolders)
  for (const { settings = [], path } of allFolders.state)
    for (const name of settings)
      if (!/[*{]/.test(name) && seeded.whole(0, 2) === 0)
        write(place.path(path, name, ...(/\./.test(name) ? [] : ["kept"])), "{}")
  place.write(".claude.json", JSON.stringify({ projects: {} }))
  place.write(".codex/state_5.sqlite", "the user's")
  const before = place.contents()
  const script = plantingScript(plantedState(seeded, allFolders, count), (index) =>
    place.path(allFolders.state[index]?.path ?? "")
  )
  const databases =
    'printf x > "$CODEX_SQLITE_HOME/state_5.sqlite"; printf x > "$OPENCODE_DB"; printf x > ~/.claude.json'
  await runScript(place, mode, `${script.replace(/exit 0$/, "")}\n${databases}`)
  assert.deepStrictEqual(place.contents(), before)
}
