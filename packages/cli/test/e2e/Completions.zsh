# What TAB lists after the line $2, with the completions in the folder $1: one match a line. A zsh of its own, in a terminal of its own.
zmodload zsh/zpty
# It says that it is ready once it reads the line key by key: before that a TAB is no more than a character.
inner='
  fpath=('${(q)1}' $fpath); autoload -Uz compinit; compinit -D -u
  compadd() {
    (( ${#${(M)@[1,(i)(-|--)]:#-*(O|A|D)*}} )) && { builtin compadd "$@"; return }
    local -a found; builtin compadd -A found "$@"; print -l -- "match:"${^found}; builtin compadd "$@"
  }
  over() { print over: }; comppostfuncs=(over)
  bindkey "^I" complete-word; unsetopt prompt_cr; PS1=
  zle-line-init() { zle -I; print "rea""dy:" }; zle -N zle-line-init
'
zpty z zsh -f -i
zpty -w z $inner
until zpty -r z line && [[ $line == *ready:* ]]; do :; done
zpty -w -n z "$2"$'\t'
# The lines are on stderr too: they explain a question without an answer.
while zpty -r z line && print -ru2 -- ${(V)line} && [[ $line != *over:* ]]; do
  [[ $line == *match:* ]] && print -r -- ${${line##*match:}%%$'\r'*}
done
# It ends only now: `zpty -r` reads nothing more of a shell that has exited.
zpty -d z
# What the last line was is no failure.
exit 0
