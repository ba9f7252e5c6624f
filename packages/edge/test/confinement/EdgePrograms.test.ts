/** Programs that the Edge runs without confinement, in the workspace of a confined run without a layer: the run cannot replace them. */
import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { openFolder, writeProgram } from "../Folder.ts"
import { canConfine } from "./CanConfine.ts"
import { runConfined } from "./ConfinedScript.ts"

const SYSTEM = "/usr/local/bin:/usr/bin:/bin"
const GIT = 'exec /usr/bin/git "$@"'
/** Tries each way to put another program at a path. */
const REPLACE = `
echo evil > tools/bin/git
chmod +w tools/bin/git; echo evil >> tools/bin/git
rm -f tools/bin/git
mv tools/bin/git tools/bin/other
mv -T tools/bin tools/moved
mv -T tools moved
cp /bin/true evil && mv -f evil tools/bin/git
ln -sf /bin/true tools/bin/git
echo free > tools/free; echo done`

const place = () => {
  const folder = realpathSync(openFolder())
  const [workspace, home, edge] = ["workspace", "user", "edge"].map((name) => join(folder, name)) as [
    string,
    string,
    string
  ]
  for (const each of [workspace, home, edge, join(workspace, "tools")]) mkdirSync(each)
  const run = (bin: string, script = REPLACE) =>
    runConfined({
      script,
      mode: "auto_edit",
      folders: { state: [] },
      home,
      edge,
      workspace,
      path: `${bin}:${SYSTEM}`
    })
  return { folder, run, workspace }
}

describe.skipIf(!canConfine)("The Edge's programs in a workspace", () => {
  it("are not replaced by a run, nor is a folder around them", async () => {
    const { run, workspace } = place()
    const bin = join(workspace, "tools/bin")
    writeProgram(join(bin, "git"), GIT)
    assert.include(await run(bin), "done")
    assert.strictEqual(readFileSync(join(bin, "git"), "utf8"), `#!/bin/sh\n${GIT}\n`)
    assert.deepStrictEqual(readdirSync(join(workspace, "tools")).toSorted(), ["bin", "free"])
    assert.deepStrictEqual(readdirSync(bin), ["git"])
  })

  it("are not replaced where they are links, nor is what the links lead to", async () => {
    const { run, workspace } = place()
    const bin = join(workspace, "tools/bin")
    writeProgram(join(workspace, "lib/git-1"), GIT)
    mkdirSync(bin)
    symlinkSync("../../lib/git-1", join(bin, "git"))
    assert.include(await run(bin, `${REPLACE}; echo evil > lib/git-1; mv -T lib moved-lib; echo end`), "end")
    assert.strictEqual(readFileSync(join(bin, "git"), "utf8"), `#!/bin/sh\n${GIT}\n`)
    assert.deepStrictEqual(readdirSync(bin), ["git"])
  })

  it("refuse the run if a link to one is in the workspace's own folder", async () => {
    const { folder, run, workspace } = place()
    writeProgram(join(folder, "git-1"), GIT)
    symlinkSync("../git-1", join(workspace, "git"))
    const refusal = await run(workspace, "echo started").catch(JSON.stringify)
    assert.include(refusal, "is a link to a program that the Edge runs")
  })
})
