/** Commands with the grant `confined`: ordinary ones are allowed, and what is not known asks. */
import { effort } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { afterAll } from "vitest"
import { Seeded } from "../harness/Seeded.ts"
import { ordinary, unlisted } from "./ConfinedCommands.ts"
import { ConfinedTree } from "./ConfinedTree.ts"
import { policyOf, shell, verdictOn } from "./RunPolicies.ts"

const page = readFileSync(new URL("../../../../docs/auto-edit.md", import.meta.url), "utf8")
const rows = [...page.matchAll(/^\| (allow|ask) \| `([^`]+)` \| .+ \|$/gm)].map(
  ([, answer = "", line = ""]) => ({
    answer,
    line
  })
)
const tree = new ConfinedTree()
afterAll(() => tree.remove())
const policy = policyOf({ place: tree.place, hasConfinedGrant: () => true })
const answerTo = (line: string): string => verdictOn(policy, shell(line))._tag

describe("The grant confined", () => {
  it.each(ordinary)("allows %j", (line) => {
    assert.strictEqual(answerTo(line), "Allow")
  })

  it.each(unlisted)("asks about %j", (line) => {
    assert.strictEqual(answerTo(line), "Ask")
  })
})

describe("The table of commands in docs/auto-edit.md", () => {
  it("has at least 20 rows", () => {
    assert.isAtLeast(rows.length, 20)
  })

  it.each(rows)("answers $answer for $line", ({ answer, line }) => {
    assert.strictEqual(answerTo(line), answer === "allow" ? "Allow" : "Ask")
  })

  it("lists variables that may be set", () => {
    const listed = page.slice(page.indexOf("### Variables")).match(/`[A-Z][A-Z_0-9]+`/g) ?? []
    for (const name of listed) assert.strictEqual(answerTo(`${name.slice(1, -1)}=1 npm test`), "Allow", name)
    assert.isAtLeast(listed.length, 25)
  })
})

const random = new Seeded("confined commands")
const letters = (most: number): string =>
  Array.from({ length: random.whole(3, most) }, () =>
    random.pick([..."abcdefghiklmnoprstuvwxyz"] as [string])
  ).join("")
/** Programs whose words are data. */
const speaks = /^(echo|printf|test)$/
/** One simple command each, without an operand that is quoted. */
const simple = ordinary.filter((line) => /^[\w./ =:-]+$/.test(line) && !/ -- |\.sh|\.py|\.mjs/.test(line))

describe("Generated commands with the grant confined", () => {
  it("ask if an option is added that no program has", () => {
    for (let left = 300 * effort; left > 0; left--) {
      const [program = "", ...words] = random.pick(simple as [string]).split(" ")
      const option = `--${letters(8)}q${random.pick(["", "=src/rc.txt", " ./src/x.sh", "=x"])}`
      const line = [program, ...words, option].join(" ")
      if (!speaks.test(program)) assert.strictEqual(answerTo(line), "Ask", line)
    }
  })

  it("ask if a variable is set that is not known", () => {
    for (let left = 300 * effort; left > 0; left--) {
      const line = random.pick(simple as [string])
      const name = random.pick([
        letters(8).toUpperCase(),
        `${letters(5).toUpperCase()}_OPTS`,
        `GIT_${letters(5).toUpperCase()}`,
        `npm_config_${letters(5)}`,
        `LC_${letters(4).toUpperCase()}`,
        "PATH",
        "NODE_OPTIONS",
        "BASH_ENV"
      ])
      for (const assigned of [`${name}=x ${line}`, `env ${name}=x ${line}`])
        assert.strictEqual(answerTo(assigned), "Ask", assigned)
    }
  })

  it("ask about a program in a folder that is not the system's, under any name", () => {
    const names = "cat ls git npm make pytest node tsc rimraf shx rm x".split(" ")
    const folders =
      "./ bin/ ./bin/ tools/ src/ node_modules/.bin/../.bin/ ../bin/ /opt/x/bin/ /tmp/ /home/u/.local/bin/ /root/bin/ /usr/lib/x/ /usr/bin/../../tmp/ //bin/x/".split(
        " "
      )
    for (const folder of folders)
      for (const name of names)
        assert.strictEqual(answerTo(`${folder}${name} status`), "Ask", `${folder}${name}`)
  })

  it("are answered by the name of a program in a folder of the system", () => {
    const folders =
      "/bin/ /sbin/ /usr/bin/ /usr/sbin/ /usr/local/bin/ /usr/local/sbin/ /opt/homebrew/bin/ /opt/local/bin/".split(
        " "
      )
    for (const line of [...ordinary, ...unlisted]) {
      if (!/^[a-z]+ [^&|;]*$/.test(line) || /^(cd|test|time|env|exec|command|printf) /.test(line)) continue
      const folder = random.pick(folders as [string])
      assert.strictEqual(answerTo(`${folder}${line}`), answerTo(line), `${folder}${line}`)
    }
  })
})
