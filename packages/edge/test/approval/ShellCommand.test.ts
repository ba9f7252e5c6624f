import { assert, describe, it } from "@effect/vitest"
import type { ParsedSegment } from "../../src/approval/ParsedSegment.ts"
import { segmentsOf } from "../../src/approval/ShellCommand.ts"

/** Each segment as one line: words, `~` where they are not exact, then folder, input and files. */
const short = ({ assignments, cwd, exact, inner, input, opaque, words, writes }: ParsedSegment): string =>
  opaque !== undefined
    ? `opaque: ${opaque}`
    : [
        [...assignments, ...words].join(" "),
        ...(inner.length < words.length ? [`runs ${inner.join(" ")}`] : []),
        ...(exact ? [] : ["~"]),
        ...(cwd === "." ? [] : [`in ${cwd ?? "?"}`]),
        ...(input === undefined ? [] : [`reads ${JSON.stringify(input)}`]),
        ...writes.map(({ append, file }) => `${append ? ">>" : ">"} ${file}`)
      ].join(", ")

const differs = "opaque: shells differ in its redirection, or it opens a connection"

const cases: ReadonlyArray<readonly [line: string, segments: ReadonlyArray<string>]> = [
  ["", []],
  ["# nothing", []],
  ["a && b || c; d & e", ["a", "b", "c", "d", "e"]],
  ["a | b | c", ["a", 'b, reads "a |"', 'c, reads "a | b |"']],
  ["a |& b", ["opaque: shells differ in what it does", "a", 'b, reads "a |"']],
  ["(a; { b; }) > f", ["a, > f", "b, > f"]],
  ["if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]],
  ["while a; do b; done < f", ['a, reads "< f"', 'b, reads "< f"']],
  ["until a; do b; done", ["a", "b"]],
  ["for x in 1 2; do a $x; done", ["a $x, ~"]],
  ["case x in a | b*) c;; *) d;; esac", ["c", "d"]],
  ["f() { a; }", ["opaque: it defines a function", "a"]],
  ["a $(b `c`)", ["a $(b `c`), ~", "b `c`, ~", "c"]],
  ['a "$(b)" ${x:-$(c)} $(($(d)))', ["a $(b) ${x:-$(c)} $(($(d))), ~", "b", "c", "d"]],
  ["a <(b) >(c)", ["a <(b) >(c), ~", "b", "c"]],
  ["CI=1 LANG='C' a C=2", ["CI=1 LANG=C a C=2"]],
  ["A=1 a", ["opaque: it sets a variable that may carry options or code"]],
  ["CI=./x a", ["opaque: it sets a variable that may carry options or code"]],
  ["CI=$(b) a", ["opaque: it sets a variable that may carry options or code", "b"]],
  ["a >f 2>>g 2>&1 >&2 <&0 2>/dev/null", ["a, > f, >> g"]],
  ...["&> f", ">| f", "<> f", ">& f", ">&!f", ">!f", "<<< x", "3> f", "<1-2>f", ">&-"].map(
    (redirection): readonly [string, ReadonlyArray<string>] => [`a ${redirection}`, [differs]]
  ),
  ['a > "$f"', ['a, ~, > "$f"']],
  ["a < f", ['a, reads "< f"']],
  ["a <<E\none\nE", ['a, reads "<< one\\n"']],
  ["a <<'E'\n$(b)\nE", ['a, reads "<< $(b)\\n"']],
  ["a <<E\n$(b)\nE", ['a, ~, reads "<< $(b)\\n"', 'b, reads "<< $(b)\\n"']],
  ["timeout -s KILL 5 nice -n 3 env CI=1 a b", ["timeout -s KILL 5 nice -n 3 env CI=1 a b, runs a b"]],
  ["time -p a", ["a"]],
  ["time cd a && b", ["cd a", "b, in ?"]],
  ["command -v a", ["command -v a"]],
  ["env", ["env"]],
  ["nohup -x a", ["opaque: what it starts is decided when it runs"]],
  ["./timeout 5 a", ["./timeout 5 a"]],
  ["cd a && b && cd ../c && d", ["cd a", "b, in a", "cd ../c, in a", "d, in c"]],
  ["(cd a && b); c", ["cd a", "b, in a", "c"]],
  ["cd a & b", ["cd a", "b"]],
  ["cd a && b & c", ["cd a", "b, in a", "c, in ?"]],
  ["(cd a && b) & c", ["cd a", "b, in a", "c"]],
  ["cd a | b; c", ["cd a", 'b, reads "cd a |"', "c"]],
  ["c $(cd a && b)", ["c $(cd a && b), ~", "cd a", "b, in a"]],
  ["cd /a/../b && c", ["cd /a/../b", "c, in /b"]],
  ["cd a; b", ["cd a", "b, in ?"]],
  ["cd && a", ["cd", "a, in ?"]],
  ["a 'b c' \"d e\" f\\ g \\\nh", ["a b c d e f g h"]],
  ["a 2\\\n>&1", ["opaque: it continues a word on the next line"]],
  ["a 1\\\n2>b", ["opaque: it continues a word on the next line"]],
  ["a {b}\\\n\\\n<c", ["opaque: it continues a word on the next line"]],
  ["a \\\n  2>&1 \\\n  > b", ["a, > b"]],
  ["a ~ b~ '~'", ["a ~ b~ ~, ~"]],
  ["a x=~/y", ["a x=~/y, ~"]],
  ["a --x='~'", ["a --x=~"]],
  ["'' a", ["opaque: its program is decided when it runs"]],
  ["A=1", ["opaque: it names no program"]]
]

describe("segmentsOf", () => {
  it.each(cases)("reads %j", (line, segments) => {
    assert.deepStrictEqual(segmentsOf(line).map(short), segments)
  })

  it("keeps the text of each as it stands, inside backticks too", () => {
    const texts = segmentsOf("a  'b' > c && d `e \\`f\\``").map(({ text }) => text)
    assert.deepStrictEqual(texts, ["a  'b' > c", "d `e \\`f\\``", "e `f`", "f"])
  })

  const nested = (open: string, close: string, times: number) =>
    open.repeat(times) + "a" + close.repeat(times)

  it.each([
    ["long", "a ".repeat(20_000)],
    ["many", "a;".repeat(65)],
    ["deep in substitutions", nested("echo $(", ")", 200)],
    ["deep in subshells", nested("( ", ")", 1_000)],
    ["deep in braces", nested("${a:-", "}", 2_000)],
    ["deep in quotes", nested('"$(', ')"', 500)],
    ["deep in arithmetic", nested("$((1+(", "))", 800)],
    ["unclosed", "$(".repeat(5_000)],
    ["unclosed here-documents", "a <<E\n".repeat(2_000)],
    ["backticks", "`".repeat(4_001)]
  ])("gives up on what is too %s", (_, line) => {
    const segments = segmentsOf(line)
    assert.isAtMost(segments.length, 64)
    assert.isTrue(segments.some(({ exact }) => !exact))
  })
})
