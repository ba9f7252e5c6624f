/** What a hostile run leaves in the private state of each runtime: nothing of it reaches the user's home. */
import { registry } from "@corral/testing/recordings/Fixtures"
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { Seeded } from "../harness/Seeded.ts"
import { plantedState, plantingScript } from "./PlantedState.ts"
import { StateHome, write } from "./StateHome.ts"
import { join } from "node:path"

/** Adapters of one program share its state. */
const states = new Set([...registry.values()].flatMap(({ folders }) => folders?.state ?? []))
const byProgram = Map.groupBy(states, ({ path }) => path.replace(/^.*\//, ""))
const runtimes = [...byProgram].map(([name, state]) => ({ name, folders: { state } }))
const COUNT = 25

describe.each(runtimes)("State in $name", ({ folders, name }) => {
  it("receives nothing that a run planted", async () => {
    const seeded = new Seeded(`planted in ${name}`)
    const place = new StateHome(folders)
    place.write(".ssh/key", "secret")
    for (const { settings = [], path } of folders.state)
      for (const setting of settings)
        if (!/[*{]/.test(setting) && seeded.whole(0, 1) === 1)
          place.write(join(path, setting, "kept"), "kept")
    const before = place.contents()
    const { end, mounts } = await place.open("run_a")
    const layers = folders.state.map(
      ({ path }) => mounts.find((mount) => mount.path === place.path(path))?.source ?? place.folder
    )
    const file = join(place.folder, "plant.sh")
    const planted = plantedState(seeded, folders, COUNT)
    write(
      file,
      plantingScript(planted, (index) => layers[index] ?? place.folder)
    )
    spawnSync("/bin/sh", [file], { stdio: "ignore", timeout: 20_000 })
    await end()
    assert.deepStrictEqual(place.contents(), before)
  })
})
