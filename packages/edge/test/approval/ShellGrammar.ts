/** Hostile command lines from the shell's grammar: its constructs, repeated, nested and mixed, up to the longest line that is read. */
import type { Seeded } from "../harness/Seeded.ts"

const LONGEST = 8_192

/** What opens a construct, and what closes it. Where there is nothing to close, the second text is empty. */
export const constructs: readonly [readonly [string, string], ...ReadonlyArray<readonly [string, string]>] = [
  ["(", ")"],
  ["{ ", "; }"],
  ["{a,", "b}"],
  ["{1..", "2}"],
  ["[", "]"],
  ["[!", "]"],
  ["[[:", ":]]"],
  ["[[ ", " ]]"],
  ["[[ ! ", " ]]"],
  ["[[ ( ", " ) ]]"],
  ["((", "))"],
  ["$((", "))"],
  ["$((1+(", "))"],
  ["$((a[", "]))"],
  ["$[", "]"],
  ["$(", ")"],
  ["`", "`"],
  ["\\`", "\\`"],
  ["<(", ")"],
  [">(", ")"],
  ["=(", ")"],
  ["${", "}"],
  ["${a:-", "}"],
  ["${a:", "}"],
  ["${a[", "]}"],
  ["${a/", "}"],
  ["${#a", "}"],
  ["${!a", "}"],
  ["${ ", "; }"],
  ["${| ", "; }"],
  ['"', '"'],
  ["'", "'"],
  ["$'", "'"],
  ['$"', '"'],
  ['"$(', ')"'],
  ['"${a:-', '}"'],
  ["@(", ")"],
  ["!(", ")"],
  ["*(", ")"],
  ["+(", ")"],
  ["?(", ")"],
  ["a=", ""],
  ["a=(", ")"],
  ["a[", "]=1"],
  ["a[1]=(", ")"],
  ["if ", "; then a; fi;"],
  ["if a; then ", "; fi;"],
  ["if a; then b; elif ", "; fi;"],
  ["while ", "; do a; done;"],
  ["until a; do ", "; done;"],
  ["for a in ", "; do a; done;"],
  ["for a in b; do ", "; done;"],
  ["for ((", "; ; )); do a; done;"],
  ["select a in b; do ", "; done;"],
  ["case ", " in a) b;; esac;"],
  ["case a in ", ") b;; esac;"],
  ["case a in a) ", ";; esac;"],
  ["a() { ", "; };"],
  ["function a { ", "; };"],
  ["coproc ", ""],
  ["time ", ""],
  ["! ", ""],
  ["cat <<E\n", "\nE\n"],
  ["cat <<-'E'\n", "\n\tE\n"],
  ["cat <<E <<F\n", "\nE\nF\n"],
  ["<<E", ""],
  ["<<< ", ""],
  ["< ", ""],
  ["> ", ""],
  [">> a ", ""],
  ["2>&1 ", ""],
  ["&> a ", ""],
  ["{fd}> a ", ""],
  ["a | ", ""],
  ["a |& ", ""],
  ["a && ", ""],
  ["a || ", ""],
  ["cd a && ", ""],
  ["cd a || ", ""],
  ["a; ", ""],
  ["a & ", ""],
  ["a\n", ""],
  ["\\\n", ""],
  ["\\", ""],
  ["# ", "\n"],
  ["a ", ""],
  ["-a ", ""],
  ["/a", ""],
  ["../", ""],
  ["a-1", ""],
  ["a.1", ""],
  ["=", ""],
  ["~", ""],
  ["*", ""],
  ["?", ""],
  ["$a", ""],
  ["env ", ""],
  ["timeout 1 ", ""],
  ["nice -n 1 ", ""],
  ["command ", ""],
  ["-exec a ", ""],
  ["s,a,b,;", ""],
  ["/a/d;", ""],
  ["git push ", ""],
  ["docker -v / ", ""],
  [".github/workflows/", ""],
  ["a_EDITOR=", " "],
  ["PROMPT", "=1 "]
]

const beginnings = [
  "",
  "",
  ..."echo ;echo a;a=;sed ;sed -e ';sudo ;find . ;xargs ;git ;git push ;rm ;chmod ;docker run ;npm run ;printf -v ;test -v a[;cp a ;env ".split(
    ";"
  )
] as const

const capped = (line: string): string => line.slice(0, LONGEST)

/** One line that repeats a few constructs, half of the time with what closes them. */
export const hostileLine = (random: Seeded): string => {
  const beginning = random.pick(["", ...beginnings])
  const chosen = Array.from({ length: random.whole(1, 3) }, () => random.pick(constructs))
  const [open, close] = [
    chosen.map(([opening]) => opening).join(""),
    chosen
      .map(([, closing]) => closing)
      .toReversed()
      .join("")
  ]
  const size = random.pick([20, 100, 400, 2_000, LONGEST])
  const isClosed = random.whole(0, 1) === 1
  const times = Math.max(1, Math.floor(size / (open.length + (isClosed ? close.length : 0))))
  const middle = random.pick(["", "a", "a b", "'a'"])
  switch (random.whole(0, 3)) {
    case 0:
      return capped(beginning + `${open}${middle}${isClosed ? close : ""}`.repeat(times))
    case 1:
      return capped(beginning + `${open}${middle}${close} `.repeat(times) + open)
    default:
      return capped(beginning + open.repeat(times) + middle + (isClosed ? close.repeat(times) : ""))
  }
}
