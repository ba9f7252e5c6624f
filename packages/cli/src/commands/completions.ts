/** `corral completions`: what a shell needs to complete commands, flags and their values. */
import { capped } from "@corral/domain/text/CappedPattern"
import { builtIn } from "@corral/adapters/Registry"
import { scriptedProgram } from "@corral/edge/scriptedProgram"
import { Effect } from "effect"
import { Argument, Command, Completions } from "effect/cli"
import { Host } from "../terminal/Host.ts"

/** Values that a shell can propose for flags which take others too. */
const proposed = (): Readonly<Record<string, Completions.FlagType>> => {
  const file: Completions.FlagType = { _tag: "Path", pathType: "file" }
  const agents = [...builtIn({ node: process.execPath, scriptedProgram }).keys()]
  return {
    agent: { _tag: "Choice", values: agents },
    folder: { _tag: "Path", pathType: "directory" },
    output: file,
    "token-file": file
  }
}

const withProposed = (
  command: Completions.CommandDescriptor,
  types: Readonly<Record<string, Completions.FlagType>>
): Completions.CommandDescriptor => ({
  ...command,
  flags: command.flags.map((flag) => ({ ...flag, type: types[flag.name] ?? flag.type })),
  subcommands: command.subcommands.map((each) => withProposed(each, types))
})

/** The script for that shell. */
const scriptOf = (shell: "bash" | "zsh" | "fish", described: Completions.CommandDescriptor): string => {
  const script = Completions.generate("corral", shell, withProposed(described, proposed())).replaceAll(
    "corral --completions",
    "corral completions"
  )
  // `--flag=value` beside `--flag value`: zsh wants to be told of flags that take a value.
  return shell === "zsh" ? script.replaceAll(flags, "$1=$2") : script
}

/** Flags that take a value, in a script of our own. */
const flags = capped(500_000, /^( +'\([^)]*\)--[\w-]+)(\[.*\]:.*')$/gm)

/** `described` is the whole tree, this command among it. */
export const makeCompletionsCommand = (described: () => Completions.CommandDescriptor) =>
  Command.make(
    "completions",
    {
      shell: Argument.Literals("shell", ["bash", "zsh", "fish"]).pipe(
        Argument.withDescription("Which shell: bash, zsh or fish")
      )
    },
    Effect.fn(function* ({ shell }) {
      const host = yield* Host
      host.write(`${scriptOf(shell, described())}\n`)
    })
  ).pipe(
    Command.withDescription("Print a script that completes this command in a shell"),
    Command.withExamples([
      {
        command: "corral completions bash > ~/.local/share/bash-completion/completions/corral",
        description: "bash"
      },
      { command: "corral completions zsh > ~/.zfunc/_corral", description: "zsh, with ~/.zfunc in fpath" },
      { command: "corral completions fish > ~/.config/fish/completions/corral.fish", description: "fish" }
    ])
  )
