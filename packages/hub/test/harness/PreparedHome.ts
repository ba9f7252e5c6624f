/**
 * The home of a Hub that ran once and ended: its embedded database is made and migrated. A test's Hub starts in a copy of it in a third of
 * the time. Whoever needs it first makes it, once for a whole run of tests; who comes meanwhile starts in an empty home.
 */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const FOLDER = "CORRAL_TEST_PREPARED"

/** Before all tests: the folder for it. After them it goes. */
export const setup = (): (() => void) => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-prepared-"))
  process.env[FOLDER] = folder
  return () => rmSync(folder, { recursive: true, force: true })
}

/** Copies it to `home` where there is one; `make` starts and ends a Hub in the home that it is given. */
export const copyPrepared = async (home: string, make: (home: string) => Promise<void>): Promise<void> => {
  const folder = process.env[FOLDER]
  if (folder === undefined) return
  const [prepared, done] = [join(folder, "home"), join(folder, "done")]
  if (!existsSync(done)) {
    try {
      mkdirSync(prepared)
    } catch {
      return
    }
    await make(prepared)
    writeFileSync(done, "")
  }
  // With modes and links as they are: a database refuses a folder that others may open.
  execFileSync("cp", ["-a", prepared, home])
}
