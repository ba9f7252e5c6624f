/**
 * A program that plays a prompt alone, with its own command line and everything allowed: what it leaves in its folder is what a run has to leave.
 *
 * Does not: expect that it ends. One that has not ended within the time has left what is there.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { changesBetween, filesIn } from "./ChangedFiles.ts"
import type { Installed } from "./Installation.ts"
import { withOwnHome } from "./OwnHome.ts"
import { README } from "./Stage.ts"

const PATIENCE_MS = 60_000

/** Ends a program with what it has started. */
const endGroup = (pid: number): void => {
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // Nothing of it is alive.
  }
}

/** Files that the program changes, with their content. None if it has no command line for one prompt. */
export const changesAlone = async (
  place: Installed,
  prompt: string
): Promise<Readonly<Record<string, string | undefined>>> => {
  const args = place.program.alone?.(prompt)
  if (args === undefined) return {}
  return withOwnHome(place, async ({ env, home, models }) => {
    const folder = join(home, "workspace")
    mkdirSync(folder)
    writeFileSync(join(folder, "README.md"), README)
    models.workspace = folder
    const before = filesIn(folder)
    const child = spawn(join(place.bin, place.program.command), [...args], {
      cwd: folder,
      detached: true,
      env: { ...env, PWD: folder },
      stdio: "ignore"
    })
    const end = () => child.pid !== undefined && endGroup(child.pid)
    const timer = setTimeout(end, PATIENCE_MS)
    await once(child, "close")
    clearTimeout(timer)
    end()
    return changesBetween(before, filesIn(folder))
  })
}
