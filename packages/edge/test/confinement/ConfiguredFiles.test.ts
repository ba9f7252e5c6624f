/** Files of a workspace that git settings name. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { configuredNames, existingConfiguredFiles } from "../../src/confinement/ConfiguredFiles.ts"
import { protectedFolders } from "../../src/confinement/RunMounts.ts"
import { gitSettings } from "../../src/workspace/GitSettings.ts"
import { openFolder, writeProgram } from "../Folder.ts"
import { canConfine } from "./CanConfine.ts"
import { ConfinedCase } from "./ConfinedCase.ts"

const repository = (): string => {
  const root = openFolder()
  execFileSync("git", ["init", "-q"], { cwd: root })
  return root
}

const set = (root: string, key: string, value: string, file = ".git/config"): void => {
  execFileSync("git", ["config", "--file", file, "--add", key, value], { cwd: root })
}

/** Settings that git documents as commands. `NAME` is the command's file. */
const keys = [
  "core.editor",
  "core.pager",
  "core.fsmonitor",
  "core.sshCommand",
  "core.askPass",
  "core.gitProxy",
  "core.alternateRefsCommand",
  "sequence.editor",
  "diff.external",
  "diff.some.command",
  "diff.some.textconv",
  "filter.some.clean",
  "filter.some.smudge",
  "filter.some.process",
  "merge.some.driver",
  "mergetool.some.cmd",
  "mergetool.some.path",
  "difftool.some.cmd",
  "browser.some.path",
  "man.some.cmd",
  "guitool.some.cmd",
  "gpg.program",
  "gpg.ssh.program",
  "gpg.ssh.defaultKeyCommand",
  "credential.helper",
  "credential.https://example.com.helper",
  "alias.some",
  "pager.log",
  "interactive.diffFilter",
  "sendemail.smtpServer",
  "sendemail.toCmd",
  "sendemail.some.sendmailCmd",
  "imap.tunnel",
  "uploadpack.packObjectsHook",
  "remote.origin.uploadpack",
  "remote.origin.receivepack",
  "remote.origin.url",
  "submodule.some.update",
  "tar.some.command",
  "trailer.some.cmd",
  "web.browser",
  "instaweb.httpd",
  "hook.some.command",
  "some.thing.that-does-not-exist-yet"
]
const forms = [
  "./tools/run.sh",
  "!./tools/run.sh --all",
  "!f() { sh 'tools/run.sh' \"$@\"; }; f",
  '!cd "$(git rev-parse --show-toplevel)" && A=1 $PWD/tools/run.sh',
  "ext::tools/run.sh %S",
  "env X=tools/run.sh sh"
]

describe.skipIf(!canConfine)("a confined run", () => {
  it("cannot write what the settings name, nor replace a folder around it", async () => {
    const machine = new ConfinedCase()
    onTestFinished(async () => {
      await machine.close()
      rmSync(machine.folder, { recursive: true, force: true })
    })
    const { workspace } = machine
    const named: Readonly<Record<string, string>> = {
      "diff.external": "deep/tools/diff.sh",
      "alias.a": "alias.sh",
      "core.hooksPath": "some/hooks"
    }
    for (const path of ["deep/tools/diff.sh", "alias.sh", "some/hooks/pre-commit"])
      writeProgram(join(workspace, path), "echo before")
    for (const [key, value] of Object.entries(named))
      set(workspace, key, key.startsWith("alias") ? `!sh ${value}` : value)
    const script = `for file in deep/tools/diff.sh alias.sh some/hooks/pre-commit some/hooks/post-commit
      do echo evil > $file; echo evil > $file.new; mv $file.new $file; rm -f $file; ln -sf /bin/true $file; done
      mv deep moved; mv deep/tools moved; mv some moved; mv some/hooks moved; rm -rf deep some
      mkdir -p deep/tools some/hooks; echo evil > deep/tools/diff.sh; echo fine > deep/other.txt; echo fine > other.txt`
    const { args, env, file } = await machine.confined("auto_edit", "/bin/sh", ["-c", script])
    spawnSync(file, [...args], { env, cwd: workspace })
    for (const path of ["deep/tools/diff.sh", "alias.sh", "some/hooks/pre-commit"])
      assert.match(readFileSync(join(workspace, path), "utf8"), /echo before/, path)
    assert.deepStrictEqual(readdirSync(join(workspace, "some/hooks")), ["pre-commit"])
    for (const path of ["deep/other.txt", "other.txt"])
      assert.strictEqual(readFileSync(join(workspace, path), "utf8"), "fine\n")
  })
})

describe("protectedFolders", () => {
  it("finds folders of tools at the top and in packages, and none in installed packages", () => {
    const root = openFolder()
    const expected = [".vscode", "packages/a/.vscode", "packages/a/.claude", "vendor/x/.husky"]
    for (const name of [...expected, "node_modules/x/.vscode", ".git/.vscode", "a/b/c/d/e/f/.vscode"])
      mkdirSync(join(root, name), { recursive: true })
    symlinkSync("/etc", join(root, "packages/a/.idea"))
    assert.deepStrictEqual(
      protectedFolders(root).toSorted(),
      expected.map((name) => join(root, name)).toSorted()
    )
  })

  it("ends in a workspace of any size", () => {
    const root = openFolder()
    for (let n = 0; n < 30; n++) mkdirSync(join(root, String(n)))
    mkdirSync(join(root, "9/.vscode"))
    mkdirSync(join(root, ".vscode"))
    assert.deepStrictEqual(protectedFolders(root, 20), [join(root, ".vscode")])
    assert.lengthOf(protectedFolders(root), 2)
  })
})

describe("configuredFiles", () => {
  it.each(keys.flatMap((key, at) => [[key, forms[at % forms.length] ?? ""] as const]))(
    "finds the command of %s as %s",
    (key, form) => {
      const root = repository()
      writeProgram(join(root, "tools/run.sh"), "")
      set(root, key, form)
      assert.deepStrictEqual(existingConfiguredFiles(root, undefined), [join(root, "tools/run.sh")])
    }
  )

  it.each(forms)("finds a command that does not exist yet: %s", (form) => {
    const root = repository()
    set(root, "core.editor", form)
    assert.include(configuredNames(root, undefined), "tools/run.sh")
    assert.deepStrictEqual(existingConfiguredFiles(root, undefined), [])
  })

  it("finds a command without a folder, and no folder that a command has as a word", () => {
    const root = repository()
    writeProgram(join(root, "run.sh"), "")
    mkdirSync(join(root, "build"))
    set(root, "alias.a", "!sh run.sh build")
    assert.deepStrictEqual(existingConfiguredFiles(root, undefined), [join(root, "run.sh")])
  })

  it.each(["core.hooksPath", "init.templateDir", "some.other.path"])("finds the folder of %s", (key) => {
    const root = repository()
    mkdirSync(join(root, "hooks"))
    set(root, key, "hooks")
    assert.deepStrictEqual(existingConfiguredFiles(root, undefined), [join(root, "hooks")])
  })

  it("follows settings that other settings include, on any condition, and the user's own", () => {
    const root = repository()
    const home = openFolder()
    for (const name of ["a", "b", "c"]) writeProgram(join(root, `tools/${name}.sh`), "")
    set(root, "include.path", "../shared.config")
    set(root, "core.editor", "./tools/a.sh", join(root, "shared.config"))
    set(root, "includeIf.onbranch:main.path", join(root, "other.config"), join(root, "shared.config"))
    set(root, "core.pager", join(root, "tools/b.sh"), join(root, "other.config"))
    set(root, "core.fsmonitor", "tools/c.sh", join(home, ".gitconfig"))
    const names = ["other.config", "shared.config", "tools/a.sh", "tools/b.sh", "tools/c.sh"]
    assert.deepStrictEqual(
      existingConfiguredFiles(root, home).toSorted(),
      names.map((name) => join(root, name))
    )
  })

  it("finds the file that a link leads to, and nothing outside", () => {
    const root = repository()
    writeProgram(join(root, "real.sh"), "")
    symlinkSync("real.sh", join(root, "link.sh"))
    symlinkSync("/bin/sh", join(root, "outside.sh"))
    set(root, "core.editor", "./link.sh")
    set(root, "core.pager", "./outside.sh")
    set(root, "gpg.program", "/bin/sh")
    assert.deepStrictEqual(existingConfiguredFiles(root, undefined), [join(root, "real.sh")])
    assert.includeMembers([...configuredNames(root, undefined)], ["link.sh", "outside.sh"])
  })

  it("does not protect files because a person, a branch or a color is called so", () => {
    const root = repository()
    for (const name of ["main", "auto", "src"]) writeFileSync(join(root, name), "")
    set(root, "user.name", "src")
    set(root, "branch.main.merge", "main")
    set(root, "color.ui", "auto")
    assert.deepStrictEqual(configuredNames(root, undefined), [])
  })

  it("reads values as git does", () => {
    const root = repository()
    const text = [
      '[alias] a = "!./x y/a\\t\\"b\\".sh" ; comment',
      "[Core]",
      "\tEditor = ./one\\",
      "/two.sh # comment",
      '[diff "S\\"ome]"]',
      "  command = ./three.sh",
      "[old.Sub]",
      "\tflag",
      "\tkey = a  ;b"
    ].join("\n")
    writeFileSync(join(root, ".git/config"), text)
    const listed = spawnSync("git", ["config", "--file", ".git/config", "--list", "-z"], { cwd: root })
    const expected = listed.stdout.toString().split("\0").filter(Boolean)
    assert.strictEqual(readFileSync(join(root, ".git/config"), "utf8"), text)
    assert.deepStrictEqual(
      gitSettings(text).map(({ key, section, subsection, value }) =>
        [[section, subsection, key].filter((part) => part !== undefined).join("."), value]
          .filter((part) => part !== undefined)
          .join("\n")
      ),
      expected
    )
  })
})
