/**
 * What shells really run against what was read. Lines that a grant could cover are given to bash and to sh, with programs that only
 * write down their words: nothing may run, and no file may be made, that the reading does not name.
 */
import { assert, describe, it } from "@effect/vitest"
import { cpuMillisOf } from "@corral/testing/time/CpuTime"
import { spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { segmentsOf } from "../../src/approval/ShellCommand.ts"
import { Seeded } from "../harness/Seeded.ts"
import { policyOf, shell } from "./RunPolicies.ts"
import { hostileLine } from "./ShellGrammar.ts"

const PROGRAMS = ["pa", "pb", "pc"]
const LINES = 2_000
const recorder = `#!/bin/sh\nprintf '%s\\001' "\${0##*/}" "$@" > "$SEEN/$$"\n`

const pieces: readonly [string, ...Array<string>] = [
  " ",
  ..." ; & && | || |& ( ) { } < > >> >| <> &> &>> >& <& << <<- <<< 2>&1 2> 32> >&- $ $( ` $(( )) (( ${ ' \" \\ $' $\" # ! * ? [ ] [[ ]] ~ =".split(
    " "
  ),
  ..."x=1|x+=|{x,y}|{1..2}|{|}|,|..|pa|pb 1|x|-x|-|--|@(x|+(x)|^|:|E|in|do|2>(pc)|<(pc)|>(pc)".split("|"),
  ..."if ;then ;; fi;else ;for i in ;; do ;; done;case x in ;esac;time ;exec ;command ;env ;timeout 1 ;eval ;cd . ".split(
    ";"
  ),
  "\n",
  "\\\n",
  "\t",
  "\n\tE\n",
  "<<E",
  "<<'E'",
  "\nE\n"
]
const lines: readonly [string, ...Array<string>] = [
  "pa",
  ..."pa x|pa x && pb y|pa 'x y' \"z\" w\\ v|pa > o|(pa; pb)|{ pa; pb; }|if pa; then pb; else pc; fi|for i in x y; do pa; done".split(
    "|"
  ),
  ..."case x in x) pa;; y) pb;; esac;! pa;time pa;timeout 1 pa x;pa <<< x;x=1 pa;env x=1 pa;pa # pb;cd . && pa".split(
    ";"
  ),
  "pa 'x y' | pb",
  "pa 2>&1 | pb > o",
  "pa <<E\nx\nE\n",
  "pa <<'E'\n$(pc)\nE\n",
  "pa <<A <<B\na\nA\nb\nB\n",
  "pa <<-E\n\tx\n\tE\npb\n",
  "pa \\\n x",
  'pa "x\\\ny"',
  "pa && (pb || pc) &"
]

const bent = (random: Seeded): string => {
  let line = random.pick(lines)
  if (random.whole(1, 3) === 1) line += random.pick([";", "\n", " && ", " | ", " "]) + random.pick(lines)
  for (let left = random.whole(1, 4); left > 0; left--) {
    const at = random.whole(0, line.length)
    const until = at + (random.whole(1, 4) === 1 ? random.whole(1, 3) : 0)
    line = `${line.slice(0, at)}${random.whole(1, 4) === 1 ? "" : random.pick(pieces)}${line.slice(until)}`
  }
  return line
}

/** Programs that ran, each as its words, and files that were made. Background programs use separate folders. */
const played = (program: string, bin: string, folder: string, line: string) => {
  const [seen, work] = [join(folder, "seen"), join(folder, "work")]
  mkdirSync(seen, { recursive: true })
  mkdirSync(work)
  spawnSync(program, ["-c", line], {
    cwd: work,
    env: { PATH: bin, SEEN: seen },
    stdio: "ignore",
    timeout: 300,
    killSignal: "SIGKILL"
  })
  return {
    ran: readdirSync(seen).flatMap((name) => {
      const words = readFileSync(join(seen, name), "utf8").split("\u0001").slice(0, -1)
      return words.length === 0 ? [] : [JSON.stringify(words)]
    }),
    made: readdirSync(work)
  }
}

describe("What is read of a line", () => {
  it.each(["/bin/bash", "/bin/sh"])("is all that %s runs of it", (program) => {
    const folder = mkdtempSync(join(tmpdir(), "corral-shell-"))
    const bin = join(folder, "bin")
    mkdirSync(bin)
    for (const name of PROGRAMS) {
      writeFileSync(join(bin, name), recorder)
      chmodSync(join(bin, name), 0o755)
    }
    const random = new Seeded(program)
    for (let tried = 0; tried < LINES;) {
      const line = bent(random)
      if (/\/|\.\.\/|while|until/.test(line) || policyOf().assess(shell(line)).needs === undefined) continue
      tried++
      const segments = segmentsOf(line)
      const expected = new Set(
        segments.flatMap(({ inner, words }) => [JSON.stringify(inner), JSON.stringify(words)])
      )
      const files = new Set(segments.flatMap(({ writes }) => writes.map(({ file }) => file)))
      const { made, ran } = played(program, bin, join(folder, `${tried}`), line)
      assert.deepStrictEqual(
        [ran.filter((words) => !expected.has(words)), made.filter((file) => !files.has(file))],
        [[], []],
        JSON.stringify(line)
      )
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
})

const HOSTILE = 400_000
/** Far above what any line takes on a machine that has time for it; a line that takes the square of its length takes longer. */
const LONGEST_MS = 40
const AGAIN = 5

describe("The classification of a command line", () => {
  it(`ends for ${HOSTILE} hostile lines, each in bounded parts and without holding up the Edge`, () => {
    const random = new Seeded("hostile lines")
    const policies = (["ask", "read_only"] as const).map((mode) =>
      policyOf({
        mode,
        configured: [
          { action: "shell", command: ["git", "log"], prefix: true },
          { action: "write", files: ["**/**/**/a*b*c"] }
        ]
      })
    )
    const check = (line: string): void => {
      for (const policy of policies) {
        const assessed = policy.assess(shell(line))
        const verdict = policy.judge(assessed)
        const { segments = [] } = assessed.request
        assert.isAtMost(segments.length, 64)
        if (segments.some(({ opaque }) => opaque !== undefined)) {
          assert.strictEqual(assessed.request.risk, "high")
          assert.notStrictEqual(verdict._tag, "Allow")
        }
      }
    }
    const millisOf = (line: string): number => cpuMillisOf(() => check(line))
    let longest = 0
    for (let at = 0; at < HOSTILE; at++) {
      const line = hostileLine(random)
      let millis = millisOf(line)
      // Something else ran meanwhile: what takes long takes long again.
      for (let again = 0; millis > LONGEST_MS && again < AGAIN; again++)
        millis = Math.min(millis, millisOf(line))
      assert.isBelow(millis, LONGEST_MS, JSON.stringify(line.slice(0, 200)))
      longest = Math.max(longest, millis)
    }
    console.log(`the longest of ${HOSTILE} hostile lines took ${longest.toFixed(1)} ms`)
  })
})
