/** Output of an invalid command line: the errors and a pointer to `--help`. Full help is printed only on request. */
import { Console, Layer } from "effect"
import { CliConfig, CliOutput, GlobalFlag } from "effect/cli"

/** Removes the schema prefix, so that schema errors read like parser errors. */
const withoutPrefix = (message: string): string => message.replace("Expected: Schema validation failed: ", "")

const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(
          [
            ...event.errors.map(({ message }) => withoutPrefix(message)),
            `See ${event.commandPath.join(" ")} --help`
          ].join("\n")
        )
      : CliOutput.defaultPresenter.present(event)
}

/** Global flags and error output of all commands. */
export const usageLayer = Layer.merge(
  CliOutput.layerPresenter(presenter),
  CliConfig.layer({
    // Shell completions are a command, not a global flag.
    builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.LogLevel]
  })
)
