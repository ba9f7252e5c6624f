/** `corral completions`: completion script for a shell. */
import { capped } from "@corral/domain/text/CappedPattern"
import { scriptedProgram } from "@corral/adapters/scriptedProgram"
import { Effect } from "effect"
import { Argument, Command, Completions } from "effect/cli"
import { Host } from "../terminal/Host.ts"

/** Suggested values for flags that also accept other values. */
const suggestedValues = (agents: ReadonlyArray<string>): Readonly<Record<string, Completions.FlagType>> => {
  const file: Completions.FlagType = { _tag: "Path", pathType: "file" }
  return {
    agent: { _tag: "Choice", values: agents },
    folder: { _tag: "Path", pathType: "directory" },
    output: file,
    "token-file": file
  }
}

const withSuggestedValues = (
  command: Completions.CommandDescriptor,
  types: Readonly<Record<string, Completions.FlagType>>
): Completions.CommandDescriptor => ({
  ...command,
  flags: command.flags.map((flag) => ({ ...flag, type: types[flag.name] ?? flag.type })),
  subcommands: command.subcommands.map((each) => withSuggestedValues(each, types))
})

/** Generates the script for a shell. */
const scriptOf = (
  shell: "bash" | "zsh" | "fish",
  described: Completions.CommandDescriptor,
  agents: ReadonlyArray<string>
): string => {
  const script = Completions.generate(
    "corral",
    shell,
    withSuggestedValues(described, suggestedValues(agents))
  ).replaceAll("corral --completions", "corral completions")
  // zsh completes `--flag=value` only for flags marked with `=`.
  return shell === "zsh" ? script.replaceAll(flags, "$1=$2") : script
}

/** Flags with a value in the generated zsh script. */
const flags = capped(500_000, /^( +'\([^)]*\)--[\w-]+)(\[.*\]:.*')$/gm)

/** `describe` returns the whole command tree, including this command. */
export const makeCompletionsCommand = (describe: () => Completions.CommandDescriptor) =>
  Command.make(
    "completions",
    {
      shell: Argument.Literals("shell", ["bash", "zsh", "fish"]).pipe(
        Argument.withDescription("Shell: bash, zsh or fish")
      )
    },
    Effect.fn(function* ({ shell }) {
      const host = yield* Host
      const { builtIn } = yield* Effect.promise(() => import("@corral/adapters/Registry"))
      const agents = [...builtIn({ node: process.execPath, scriptedProgram }).keys()]
      host.write(`${scriptOf(shell, describe(), agents)}\n`)
    })
  ).pipe(
    Command.withDescription("Print the completion script of a shell"),
    Command.withExamples([
      {
        command: "corral completions bash > ~/.local/share/bash-completion/completions/corral",
        description: "bash"
      },
      { command: "corral completions zsh > ~/.zfunc/_corral", description: "zsh, with ~/.zfunc in fpath" },
      { command: "corral completions fish > ~/.config/fish/completions/corral.fish", description: "fish" }
    ])
  )
