import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as fc from "fast-check"
import { shownGitSettings } from "../../src/confinement/GitSettingsFile.ts"
import { openFolder } from "../Folder.ts"

/** What Git reads from a file: names with their values. */
const readByGit = (text: string): ReadonlyArray<string> => {
  const file = join(openFolder(), "config")
  writeFileSync(file, text)
  return execFileSync("git", ["config", "--file", file, "--list", "-z"], { encoding: "utf8" })
    .split("\0")
    .filter((each) => each !== "")
}

const SECRET = "s3cr3t"

describe("shownGitSettings", () => {
  it("keeps what commits and commands need", () => {
    const text = `[user]
\tname = Ada Lovelace
\temail = "ada@example.com" ; work
[core]
\tautocrlf = input
\teditor = vim
[alias]
\tst = status \\
  --short
[init] defaultBranch = main
[branch "main"]
\trebase = true
[filter "lfs"]
\tclean = git-lfs clean -- %f
[color "diff"]
\tmeta = yellow
`
    assert.deepStrictEqual(readByGit(shownGitSettings(text)), [
      "user.name\nAda Lovelace",
      "user.email\nada@example.com",
      "core.autocrlf\ninput",
      "alias.st\nstatus   --short",
      "init.defaultbranch\nmain",
      "branch.main.rebase\ntrue",
      "filter.lfs.clean\ngit-lfs clean -- %f",
      "color.diff.meta\nyellow"
    ])
  })

  it.each([
    `[url "https://me:${SECRET}@host/"]\n insteadOf = https://host/`,
    `[URL "https://${SECRET}@host/"] insteadOf = https://host/`,
    `[http]\n extraHeader = Authorization: ${SECRET}`,
    `[http "https://host"] proxy = http://me:${SECRET}@proxy`,
    `[credential]\n helper = "!echo password=${SECRET}"`,
    `[credential.helper]\n x = ${SECRET}`,
    `[sendemail]\n smtpPass = ${SECRET}`,
    `[github]\n token = ${SECRET}`,
    `[remote "origin"]\n url = https://${SECRET}@host/x`,
    `[branch "x"]\n remote = https://me:${SECRET}@host/x`,
    `[alias]\n up = push https://me:${SECRET}@host/x`,
    `[alias]\n up = "!curl -H 'Authorization: ${SECRET}'"`,
    `[alias]\n up = push \\\nhttps://me:${SECRET}@host/x`,
    `[core]\n sshCommand = sshpass -p ${SECRET} ssh`,
    `[core]\n gitProxy = "${SECRET}"`,
    `[include]\n path = ${SECRET}`,
    `[user "a\\"]"]\n[url "https://${SECRET}@h"]\n insteadOf = x`,
    `[core]; comment \\\n[http]\n extraheader = ${SECRET}`,
    `\ufeff[http]\n extraheader = ${SECRET}`,
    `[user]\r\n name = a\r\n[http]\r\n extraheader = ${SECRET}`
  ])("leaves out credentials of %j", (text) => {
    assert.notInclude(shownGitSettings(text), SECRET)
  })

  it("reads generated files as Git does", () => {
    const section = fc.constantFrom(
      "user",
      "http",
      "core",
      "alias",
      'url "https://host"',
      'branch "a]b"',
      "credential",
      "x.y"
    )
    const value = fc.constantFrom(
      "plain",
      '"quoted ; # text"',
      "a\\\n  b",
      "a \\\\",
      "# note",
      "true",
      '"a\\"b"',
      "[http]"
    )
    const line = fc.tuple(fc.constantFrom("name", "email", "eol", "token", "extraheader", "helper"), value)
    const file = fc.array(fc.tuple(section, fc.boolean(), fc.array(line, { maxLength: 4 })), { maxLength: 5 })
    fc.assert(
      fc.property(file, (sections) => {
        const text = sections
          .map(([name, isInline, lines]) => {
            const body = lines.map(([key, each]) => `\t${key} = ${each}`).join("\n")
            return `[${name}]${isInline ? body.trimStart() : `\n${body}`}\n`
          })
          .join("")
        const all = readByGit(text)
        const shown = readByGit(shownGitSettings(text))
        const allowed = all.filter(
          (each) => /^(?:user|alias|branch)\.|^core\.eol\n/.test(each) && !/token/.test(each)
        )
        assert.deepStrictEqual(shown, allowed)
      }),
      { numRuns: 25 }
    )
  })
})
