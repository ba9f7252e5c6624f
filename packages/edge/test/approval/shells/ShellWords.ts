/** Words that a shell reads as its own commands: builtins, keywords and aliases. */
import { spawnSync } from "node:child_process"
import type { InstalledShell } from "./Shells.ts"

const keywords = "if then else elif fi for in do done while until case esac { } !".split(" ")

/** A line that prints the shell's own commands. dash has none; its list is from its manual. */
const listing: Readonly<Record<string, string>> = {
  bash: "compgen -bka",
  zsh: "print -l ${(k)builtins} ${(k)reswords} ${(k)aliases}",
  mksh: "builtin; alias | while IFS== read -r a b; do echo $a; done",
  busybox: "help | tail -n +3"
}
const ofDash = (
  ". : [ alias bg break cd chdir command continue echo eval exec exit export false fg getopts hash jobs kill local printf pwd read readonly " +
  "return set shift test times trap true type ulimit umask unalias unset wait"
).split(" ")

/** The commands that a shell has itself. */
export const shellWords = ({ command, name }: InstalledShell): ReadonlyArray<string> => {
  const line = listing[name]
  if (line === undefined) return [...keywords, ...ofDash]
  const [program, ...options] = command
  const { stdout } = spawnSync(program, [...options, line], { encoding: "utf8", timeout: 10_000 })
  return [...keywords, ...stdout.split(/\s+/).filter((word) => word !== "")]
}
