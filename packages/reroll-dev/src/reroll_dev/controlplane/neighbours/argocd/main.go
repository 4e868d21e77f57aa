// Argo CD's application controller, repository server and plugin server, and the Redis between them, in one program.
//
// Its own command holds the rest too: the user interface, the command line, and the clouds they reach.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	plugins "github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	repositories "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func main() {
	command := &cobra.Command{Use: "argocd", SilenceUsage: true}
	for name, part := range map[string]*cobra.Command{
		"controller":  controller.NewCommand(),
		"repo-server": repositories.NewCommand(),
		"cmp-server":  plugins.NewCommand(),
		"redis":       redis(),
	} {
		part.Use = name
		command.AddCommand(part)
	}
	if err := command.Execute(); err != nil {
		os.Exit(1)
	}
}

// redis keeps everything in memory, and forgets it when it ends.
func redis() *cobra.Command {
	return &cobra.Command{
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, arguments []string) error {
			server := miniredis.NewMiniRedis()
			if err := server.StartAddr(arguments[0]); err != nil {
				return err
			}
			fmt.Println("listening at", server.Addr())
			ended := make(chan os.Signal, 1)
			signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
			<-ended
			return nil
		},
	}
}
