/** Generated command lines of a few recorded programs: ordinary lines, bent with what shells read in different ways. */
import type { Seeded } from "../../harness/Seeded.ts"

type Texts = readonly [string, ...ReadonlyArray<string>]
/** The words of a text. A space inside of a word is written as U+00A0. */
const texts = (text: string): Texts =>
  text.split(" ").map((word) => word.replaceAll("\u00a0", " ")) as unknown as Texts // never empty

const programs = texts("pa pa pb pc pz")
const words = texts(
  "x y 1 -x --x=y x=1 -- - 'a\u00a0b' \"a\u00a0b\" a\\\u00a0b d/f ./f ../x .x x/ x@y x:y a,b x+y x%y é 说明 HEAD~1 a^ stash@{0} ! ] [ '' '$x' \"a\\\\b\" 'a!b' \"a!\" " +
    "~ ~x x~ =x x= #x x#y {} {a,b} {1..2} *x [a] ?x $x ${x} $'x' $\"x\" `pc` $(pc) $((1)) <(pc) >(pc) =(pc) @(x) !(x) (x) a:~ x=~ ^x %x +x \\x \\~ \\#x"
)
const files = texts(
  "f g d/f x new ./new d/new 'a\u00a0b' \\f \"f\" 1-2 -f !f =f +f ~f &f |f $x {a,b} f* 1 2 /dev/null"
)
const operators = texts(
  "> > > >> < < 2> 2>> 1> >| <> &> &>> >& <& >! >>| >>! >&! <<< 3> 32> {fd}> 2>&1 >&2 2>&- <&- >&- <&0 2>&1- &>| >|& <1-2>"
)
const wrappers = texts(
  "timeout\u00a01 env env\u00a0CI=1 env\u00a0x=1 nice nice\u00a0-n\u00a01 nohup stdbuf\u00a0-oL command exec time time\u00a0-p ! CI=1 LC_ALL=C x=1 path=d PATH=d A+=1 TZ=d A=~ noglob builtin nocorrect - eval coproc"
)
const builtins = texts(
  "cd\u00a0d cd\u00a0d/e cd\u00a0. cd\u00a0- cd\u00a0~ echo\u00a0x printf\u00a0x test\u00a0x [\u00a0x\u00a0] true false : exit exit\u00a01 exit\u00a0PATH=d read\u00a0x set\u00a0-f .\u00a0f source\u00a0f jobs\u00a0-x\u00a0pc type\u00a0pa r " +
    "hash\u00a0pa export\u00a0x=1 alias\u00a0pa=pc [\u00a0PATH=d\u00a0-eq\u00a01\u00a0] printf\u00a0%d\u00a0PATH=d pushd\u00a0d repeat\u00a02\u00a0pc which\u00a0pa run-help\u00a0pa let\u00a0x=1 wait umask kill\u00a0-l"
)
const joints = [
  " && ",
  "; ",
  " | ",
  " || ",
  "\n",
  " & ",
  ";",
  "&&",
  "|",
  "||",
  "&",
  " |& ",
  "|&",
  " ;\n",
  "\n\n",
  " &! ",
  " &| ",
  ";;",
  " ;& ",
  " \\\n && ",
  "&\\\n& "
] as const
const pieces = texts(
  "\u00a0 ; & && | || |& ( ) { } < > >> >| <> &> &>> >& <& << <<- <<< 2>&1 2> 32> >&- $ $( ` $(( )) (( ${ ' \" \\ $' $\" # ! * ? [ ] [[ ]] ~ = , .. @ + ^ % - \\\n \n \t <<E <<'E' \nE\n \n\tE\n"
)

const wordOf = (random: Seeded): string => {
  // The first words are ordinary ones.
  const [last] = [words.length - 1]
  return words[random.whole(0, random.whole(1, 5) === 1 ? last : 35)] ?? "x"
}

const redirection = (random: Seeded): string => {
  const operator = operators[random.whole(0, random.whole(1, 4) === 1 ? operators.length - 1 : 8)] ?? ">"
  if (/[-\d]$|1-2>$/.test(operator)) return operator
  const file = files[random.whole(0, random.whole(1, 4) === 1 ? files.length - 1 : 10)] ?? "f"
  return `${operator}${random.pick(["", " ", " "])}${file}`
}

const simple = (random: Seeded): string => {
  if (random.whole(1, 6) === 1) return random.pick(builtins)
  const parts: Array<string> = []
  if (random.whole(1, 5) === 1) parts.push(random.pick(wrappers))
  if (random.whole(1, 12) === 1) parts.push(redirection(random))
  parts.push(random.pick(programs))
  for (let left = random.whole(0, 3); left > 0; left--) parts.push(wordOf(random))
  for (let left = random.whole(1, 3) === 1 ? random.whole(1, 2) : 0; left > 0; left--)
    parts.push(redirection(random))
  return parts.join(random.whole(1, 12) === 1 ? " \\\n " : " ")
}

const compound = (random: Seeded, depth: number): string => {
  const inner = (): string => lineOf(random, depth + 1)
  switch (random.whole(1, 14)) {
    case 1:
      return `(${inner()})`
    case 2:
      return `{ ${inner()}; }`
    case 3:
      return `( ${inner()} ) ${redirection(random)}`
    case 4:
      return `{ ${inner()}; } ${redirection(random)}`
    case 5:
      return `if ${inner()}; then ${inner()}; else ${inner()}; fi`
    case 6:
      return `for ${random.pick(["i", "x", "path", "f", "PATH", "word"])} in ${wordOf(random)} d; do ${inner()}; done`
    case 7:
      return `case ${wordOf(random)} in ${random.pick(["x", "(x)", "x|y", "*", "d*", "[x]", '"x"'])}) ${inner()}${random.pick([";;", ";;", ";&", ";;&", ""])} esac`
    case 8:
      return `! ${inner()}`
    case 9:
      return `time ${inner()}`
    case 10:
      return `while pz; do ${inner()}; done`
    case 11:
      return `until pa; do ${inner()}; done ${redirection(random)}`
    case 12:
      return `${simple(random)} <<E\nx ${wordOf(random)}\nE\n${simple(random)}`
    case 13:
      return `${simple(random)} <<'E' ${redirection(random)}\n$(pc)\nE\n`
    default:
      return `${simple(random)} # ${simple(random)}`
  }
}

const lineOf = (random: Seeded, depth: number): string => {
  const part = (): string =>
    depth < 3 && random.whole(1, 5) === 1 ? compound(random, depth) : simple(random)
  let line = part()
  for (let left = random.whole(1, 2) === 1 ? random.whole(1, 2) : 0; left > 0; left--)
    line += joints[random.whole(0, random.whole(1, 4) === 1 ? joints.length - 1 : 5)] + part()
  return line
}

const tails = ["", " x", ">g", "; pb", " && pb", "\npb x"] as const

/** An ordinary line with one part that shells may read differently. */
const oddLine = (random: Seeded): string => {
  const [program, tail, piece] = [random.pick(programs), random.pick(tails), random.pick(pieces)]
  const between = (): string => random.pick(["", " "])
  switch (random.whole(1, 8)) {
    case 1:
      return `${program}${between()}${random.pick(operators)}${between()}${random.pick(files)}${tail}`
    case 2:
      return `cd d && ${program} ${random.pick(operators)}${between()}${random.pick(files)}${tail}`
    case 3:
      return `${program} ${random.pick(words)}${between()}${random.pick(words)}${tail}`
    case 4:
      return `${random.pick(wrappers)} ${random.pick([program, ...builtins])}${tail}`
    case 5:
      return `${random.pick(builtins)}${random.pick(joints)}${program}${tail}`
    case 6:
      return `${program}${random.pick(joints)}pb${random.pick(joints)}pc x`
    case 7:
      return `${program}${between()}${piece}${between()}x${tail}`
    default:
      return compound(random, 2)
  }
}

/** A generated line, often with pieces in wrong places. A loop stays as it is, because it may not end otherwise. */
export const shellLine = (random: Seeded): string => {
  const isOdd = random.whole(1, 2) === 1
  let line = isOdd ? oddLine(random) : lineOf(random, 0)
  if (/while|until/.test(line)) return line
  for (let left = random.whole(1, 2) === 1 ? random.whole(1, isOdd ? 1 : 3) : 0; left > 0; left--) {
    const at = random.whole(0, line.length)
    const until = at + (random.whole(1, 4) === 1 ? random.whole(1, 3) : 0)
    line = `${line.slice(0, at)}${random.whole(1, 4) === 1 ? "" : random.pick(pieces)}${line.slice(until)}`
  }
  return line
}
