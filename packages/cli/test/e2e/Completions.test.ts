/** Completions of each installed shell. Tests of zsh and fish are skipped if the shell is not installed. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Corral } from "./Corral.ts"

const askZsh = fileURLToPath(new URL("Completions.zsh", import.meta.url))

/** Asks as bash does: the words before the cursor, and the function that completes the first, with the last two of them. */
const askBash = `source "$1/bash/corral"; COMP_LINE=$2; COMP_POINT=\${#2}; read -ra COMP_WORDS <<<"$2"
[[ $2 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMPREPLY=()
$(complete -p corral | sed 's/.*-F \\([^ ]*\\).*/\\1/') corral "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "\${COMPREPLY[@]}"`

const shells = {
  bash: (folder: string, line: string) => ["--norc", "-c", askBash, "bash", folder, line],
  zsh: (folder: string, line: string) => ["-f", askZsh, join(folder, "zsh"), line],
  fish: (folder: string, line: string) => [
    "--no-config",
    "-c",
    `source ${folder}/fish/corral; complete -C "${line}"`
  ]
}

const isHere = (shell: string): boolean => spawnSync(shell, ["-c", "exit 0"]).status === 0

describe("corral completions", () => {
  const corral = new Corral()
  // A path that contains what looks like an option of zsh's `compadd`.
  const folder = join(corral.home, "completions-A")
  beforeAll(async () => {
    const written = Object.keys(shells).map(async (shell) => {
      const { exit, out } = await corral.run("completions", shell)
      assert.strictEqual(exit, 0)
      mkdirSync(join(folder, shell), { recursive: true })
      writeFileSync(join(folder, shell, shell === "zsh" ? "_corral" : "corral"), `${out.join("\n")}\n`)
    })
    await Promise.all(written)
    writeFileSync(join(folder, "saved.txt"), "")
  })
  afterAll(() => corral.close())

  for (const [shell, waiting] of Object.entries(shells)) {
    const here = isHere(shell)
    it.skipIf(!here)(here ? `work in ${shell}` : `are untried in ${shell}, which is not installed`, () => {
      let shown = ""
      const listed = (line: string): ReadonlyArray<string> => {
        const options = { encoding: "utf8", env: corral.environment } as const
        const { status, stderr, stdout } = spawnSync(shell, waiting(folder, line), options)
        assert.strictEqual(status, 0, stderr)
        shown = stderr
        return stdout.split("\n").map((match) => match.split("\t")[0]?.trim() ?? "")
      }
      const commands = listed("corral a")
      assert.includeMembers([...commands], ["approve", "attach", "artifacts", "audit"])
      assert.notInclude(commands, "run")
      const flags = listed("corral runs --")
      assert.includeMembers([...flags], ["--state", "--json", "--project"])
      assert.notInclude(flags, "--no-json")
      assert.includeMembers([...listed("corral artifacts ")], ["list", "save"])
      assert.includeMembers([...listed("corral run --mode ")], ["ask", "read_only"])
      assert.includeMembers([...listed("corral run --agent ")], ["scripted", "claude-code"])
      assert.match(listed(`corral artifacts save a b --output ${folder}/sav`).join(), /saved\.txt/, shown)
      if (shell !== "bash") assert.match(listed("corral run --mode=re").join(), /read_only/)
    })
  }

  it("reject other shells", async () => {
    assert.strictEqual((await corral.run("completions", "tcsh")).exit, 2)
  })
})
