import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { foldersOfTools } from "../../src/confinement/ProgramFolders.ts"
import { folderOfProgram, toolFolders } from "../../src/confinement/ToolFolders.ts"
import { openFolder } from "../Folder.ts"

describe("folderOfProgram", () => {
  it.each([
    ["/home/u/.nvm/versions/node/v24/bin/node", "/home/u/.nvm/versions/node/v24"],
    ["/home/u/.nvm/v24/lib/node_modules/@a/b/cli.js", "/home/u/.nvm/v24/lib/node_modules"],
    ["/srv/x/node_modules/a/node_modules/b/c.js", "/srv/x/node_modules"],
    ["/home/u/.local/bin/agent", "/home/u/.local/bin"],
    ["/home/u/.cargo/bin/agent", "/home/u/.cargo/bin"],
    ["/home/u/bin/agent", "/home/u/bin"],
    ["/home/u/.local/share/agent/versions/1.0", "/home/u/.local/share/agent/versions"],
    ["/bin/sh", "/bin"]
  ])("of %s is %s", (path, expected) => {
    assert.strictEqual(folderOfProgram("/home/u", path), expected)
  })
})

describe("toolFolders", () => {
  it("names no folder with credentials", () => {
    for (const secret of [
      ".ssh",
      ".npmrc",
      ".cargo",
      ".config",
      ".docker",
      ".aws",
      ".gnupg",
      ".local",
      ".local/share"
    ])
      assert.notInclude(toolFolders, secret)
  })
})

describe("foldersOfTools", () => {
  it("follows the links of a program", () => {
    const home = openFolder()
    const real = join(home, ".local", "share", "agent", "v2", "agent")
    mkdirSync(join(real, ".."), { recursive: true })
    mkdirSync(join(home, ".local", "bin"))
    writeFileSync(real, "")
    symlinkSync(real, join(home, ".local", "bin", "agent"))
    const found = foldersOfTools(join(home, ".local", "bin", "agent"), { PATH: "/usr/bin" }, home)
    assert.includeMembers([...found], [join(home, ".local", "bin"), join(real, "..")])
    assert.notInclude(found, join(home, ".local"))
  })

  it("has the folder of a script that an interpreter starts, and none that a later argument names", () => {
    const home = openFolder()
    const paths = ["agent/agent.mjs", "secret/key"].map((name) => join(home, name))
    for (const path of paths) {
      mkdirSync(join(path, ".."))
      writeFileSync(path, "")
    }
    const [script = "", secret = ""] = paths
    const foundBy = (program: string, ...args: ReadonlyArray<string>) =>
      foldersOfTools(program, { PATH: "/usr/bin" }, home, args).filter((folder) => folder.startsWith(home))
    assert.deepStrictEqual(foundBy("/usr/bin/node", "--no-warnings", script, secret), [join(script, "..")])
    assert.deepStrictEqual(foundBy("/usr/bin/agent", secret), [])
    assert.deepStrictEqual(foundBy("/usr/bin/node", "-e", "0", secret), [])
    assert.deepStrictEqual(foundBy("/usr/bin/sh", "-c", "exit", secret), [])
  })
})
