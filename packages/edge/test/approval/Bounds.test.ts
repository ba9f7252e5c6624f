/** A runtime says what it wants, as long and as crooked as it wants: reading it must not hold up the other runs. */
import { assert, describe, it } from "@effect/vitest"
import { shell, policyOf } from "./RunPolicies.ts"

const SIZE = 16_384
/** Wide, because other programs run beside the tests. What is measured is milliseconds; without a bound it is minutes. */
const LIMIT_MS = 3_000

const filled = (text: string): string => text.repeat(Math.ceil(SIZE / text.length)).slice(0, SIZE)

const patterns = [
  ...'( { " \' $ \\ ; & | a; a| a& * ? ~ = [ [[ (( $( ${ ` <( >( <<E <<< < > &> >a 2>&1 # ! a=1 a[ a=( "$( $((1+'.split(
    " "
  ),
  ..."if |while |until |for a in b; do |case a in |select a in |f() |function a { |time |coproc |! |env |timeout 1 ".split(
    "|"
  ),
  "\n",
  "\\\n",
  "a && b || ",
  "cat <<E\nE\n",
  "ls {a,"
]
const arguments_ = [
  "a ",
  "-a ",
  "- ",
  "/",
  "/a",
  "s,a,b,;",
  "git push ",
  "rm -a",
  "-exec a ",
  "docker -v ",
  "=",
  ".",
  "a-1",
  "\\"
]
const programs = [
  "sed",
  "sed -e",
  "sudo",
  "find",
  "xargs",
  "git push",
  "git reset",
  "git clean",
  "rm",
  "chmod",
  "docker",
  "aws",
  "tar",
  "sort",
  "npm"
]

const judged = (line: string): number => {
  const policy = policyOf({
    configured: [
      { action: "shell", command: ["git"], prefix: true },
      { action: "write", files: ["**/**/**/a*b*c"] }
    ]
  })
  const started = performance.now()
  policy.judge(policy.assess(shell(line)))
  return performance.now() - started
}

describe("A command line is judged in bounded time", () => {
  it.each(patterns)("of %j, at any length", (pattern) => {
    for (const line of [filled(pattern), filled(pattern).slice(0, 8_000), filled(pattern).slice(0, 2_000)])
      assert.isBelow(judged(line), LIMIT_MS)
  })

  it.each(programs)("of %j with many words or a long one", (program) => {
    for (const each of arguments_) {
      for (const size of [2_000, 8_000, SIZE])
        for (const quote of ["", "'"])
          assert.isBelow(
            judged(`${program} ${quote}${filled(each).slice(0, size - 40)}${quote}`),
            LIMIT_MS,
            each
          )
    }
  })
})
