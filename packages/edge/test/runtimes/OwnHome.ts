/** A separate home for a program without an Edge, with the fake model server as its only world. */
import { noNetwork } from "@corral/testing/process/RegistryProgram"
import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { FakeModels, RIGHT_KEY } from "./FakeModels.ts"
import type { Installed } from "./Installation.ts"

export interface OwnHome {
  readonly home: string
  readonly models: FakeModels
  /** Environment of the program. */
  readonly env: Readonly<Record<string, string>>
}

/** Gives a program a home, and removes it after the use. */
export const withOwnHome = async <Value>(
  { bin, program }: Installed,
  use: (place: OwnHome) => Promise<Value>
): Promise<Value> => {
  const models = new FakeModels()
  await models.start()
  const home = mkdtempSync(join(realpathSync(tmpdir()), "corral-alone-"))
  try {
    const env = {
      ...program.settle({ home, models: models.url, key: RIGHT_KEY }),
      ...noNetwork,
      HOME: home,
      TMPDIR: home,
      PATH: [bin, dirname(process.execPath), "/usr/bin", "/bin"].join(":")
    }
    return await use({ home, models, env })
  } finally {
    models.stop()
    rmSync(home, { recursive: true, force: true })
  }
}
