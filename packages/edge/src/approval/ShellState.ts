/** Commands that change the shell, so that later commands may have another meaning. Data. */

/** Builtins that define, redirect, evaluate or set. */
const state = new Set(
  (
    ". alias autoload bind bindkey builtin chdir compdef compgen complete compopt declare dirs disown emulate enable eval export fc float " +
    "foreach functions getopts hash history integer let local mapfile nocorrect noglob popd private pushd r read readarray readonly rehash " +
    "repeat sched set setopt shopt source suspend trap typeset ulimit umask unalias unfunction unhash unset unsetopt vared zcompile zle " +
    "zmodload zstyle -"
  ).split(" ")
)

/** Builtins that take the name of a variable, or a number that the shell evaluates. */
const names = new Set("printf print wait test [ exit return break continue shift kill".split(" "))

const evaluatesIndex = (word: string): boolean => {
  const bracket = word.indexOf("[")
  return bracket !== -1 && /[$`]/.test(word.slice(bracket))
}

/** Reason why a command with these words makes the rest of its line uncertain. */
export const changesShell = (words: ReadonlyArray<string>): string | undefined => {
  const [program = ""] = words
  if (state.has(program)) return "it changes the shell itself"
  // Text in a variable's brackets is evaluated, quoted or not.
  return names.has(program) && words.some((word) => /^-[vp]/.test(word) || evaluatesIndex(word))
    ? "it names a variable of the shell"
    : undefined
}

/** Variables with which programs find, load or start others. */
const steering = new Set(
  "PATH FPATH CDPATH IFS ENV SHELL HOME ZDOTDIR SHELLOPTS GCONV_PATH CLASSPATH RUSTFLAGS CC CXX CPP LD AR AS CFLAGS LDFLAGS EDITOR VISUAL PAGER BROWSER TAR_OPTIONS POSIXLY_CORRECT TMPDIR WGETRC".split(
    " "
  )
)
const steeringStart =
  /^(?:PROMPT|BASH|LD_|DYLD_|GIT_|SSH_|NODE_|npm_|NPM_|YARN_|PNPM_|BUN_|DENO_|PYTHON|PIP_|UV_|PERL|RUBY|BUNDLE_|GEM_|PHP|LUA_|JAVA|JDK_|_JAVA|MAVEN_|GRADLE_|GO|CGO_|CARGO|RUSTC|MAKE|DOTNET_|DOCKER_|KUBE|AWS_|LESS|RSYNC_|OPENSSL_|SSL_|CURL_|TERMINFO|XDG_|CORRAL_|PS\d$)/
const steeringEnd = /(?:_EDITOR|PAGER|_COMMAND|_ASKPASS|_PROXY|_proxy)$/

/** Harmless variables with similar names. */
const harmless = new Set(["NODE_ENV", "GODEBUG"])

/** Whether a variable with that name may make another program run, or the same one in another place. */
export const affectsPrograms = (name: string): boolean =>
  !harmless.has(name) && (steering.has(name) || steeringStart.test(name) || steeringEnd.test(name))
