/**
 * Commands that a shell has itself, and that change the shell or run what another shell does not. Data and its lookup.
 *
 * A test compares the list with the builtins, keywords and aliases of the shells that are installed.
 */

/** Builtins, keywords and predefined aliases of bash, dash, zsh, mksh and busybox, except those that do the same in each. */
const state = new Set(
  (
    ". - alias autoload bg bind bindkey break builtin bye caller cap chdir clone comparguments compadd compcall compctl compdef compdescribe compfiles " +
    "compgen compgroups complete compopt compquote compset comptags comptry compvalues continue coproc declare dirs disable disown do done echotc " +
    "echoti elif else emulate enable end esac eval export fc fg fi float for foreach function functions getcap getln getopts global hash " +
    "hashinfo history if in inlib integer jobs let limit local log login logout mapfile mknod nameref nocorrect noglob popd print private " +
    "pushd pushln r read readarray readonly rehash rename repeat run-help sched select set setcap setopt shift shopt source " +
    "stop suspend then times trap ttyctl typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt until vared " +
    "whence where which-command while zcompile zformat zle zmodload zparseopts zregexparse zsocket zstyle ztcp [[ { }"
  ).split(" ")
)

/** Builtins that take the name of a variable, or a number that some shells evaluate as an expression. */
const names = new Set("printf wait test [ exit return kill".split(" "))

const evaluatesIndex = (word: string): boolean => {
  const bracket = word.indexOf("[")
  return bracket !== -1 && /[$`]/.test(word.slice(bracket))
}

const isNumber = (word: string): boolean => /^[-+]?\d*$/.test(word)

/** Whether a builtin evaluates an operand that is not a plain number: `[ PATH=1 -eq 1 ]` changes the path in zsh and mksh. */
const evaluates = ([program = "", ...args]: ReadonlyArray<string>): boolean => {
  switch (program) {
    case "test":
    case "[":
      return (
        args.some((word) => /^-(eq|ne|lt|le|gt|ge|t)$/.test(word)) &&
        !args.every((word) => isNumber(word) || /^(-[a-zA-Z]+|[\]!()])$/.test(word))
      )
    case "printf":
      return !/^(?:[^%]|%-?\d*[%sbc])*$/.test(args[0] ?? "") && !args.slice(1).every(isNumber)
    case "exit":
    case "return":
      return !args.every(isNumber)
    default:
      return false
  }
}

/** Reason why a command with these words makes the rest of its line uncertain. */
export const changesShell = (words: ReadonlyArray<string>): string | undefined => {
  const [program = ""] = words
  if (state.has(program)) return "it changes the shell itself"
  // Text in a variable's brackets is evaluated, quoted or not.
  const isUncertain =
    names.has(program) &&
    (evaluates(words) || words.some((word) => /^-[vp]/.test(word) || evaluatesIndex(word)))
  return isUncertain ? "it names a variable of the shell" : undefined
}
