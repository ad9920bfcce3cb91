// Package llm extracts statements from turns with a language model behind an API like that of OpenAI. The texts of a
// turn are sent as data, and of the answer only statements of the known types are used.
package llm
